"""Every variable that the program makes, in the order of creation, under a name that means something to its author."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from twinrun.counted import counted
from twinrun.frameworks.tensorflow import device_digest
from twinrun.frameworks.tensorflow.reading import read_handle, shape_of, size_of
from twinrun.frameworks.tensorflow.tensors import EagerTensor
from twinrun.frameworks.tensorflow.variable_groups import Group, block_of_group, grouped
from twinrun.frameworks.tensorflow.variable_names import is_seed_state, name_at_site
from twinrun.frameworks.tensorflow.variable_plan import NotOnDevice, Plan, Tracked
from twinrun.twin.block import Block
from twinrun.twin.callers import user_site

_KEPT_BYTES = 256 << 20
# A variable is reported at every look while fewer than so many were created after it, or while it changed within so
# many looks. Neither depends on whether it is still alive.
_RECENT, _LOOKS = 64, 64
_SETTLED = 4  # looks at the same variables, after which a Plan is settled
_MOST_OF_METRICS, _LARGEST_OF_METRICS = 256, 1 << 20


class Variables:
    """Tracking keeps no variable of the program alive, and what is reported does not depend on when one dies.

    No program decides when a variable dies: models are cycles of references, which live until Python's collector runs.
    So a variable is read through its handle, which can be kept when it is dead. The handle of a dead one is kept until
    its last value was seen, at the latest when the next variable is created, which may need the memory. From then on its
    last value stands for it, as if it had not been collected yet. How long a variable is reported is counted in
    creations and looks, never by the collector."""

    def __init__(
        self, note: Callable[[str], None], doing: Callable[[str], None], *, on_devices: bool
    ) -> None:
        """`note` is told what to report in the end, `doing` what takes a while. `on_devices`: digest what lies on them
        there."""
        self._note, self._doing = note, doing
        self.ignore = False  # while Keras makes the variables of a metric
        self._lock = threading.RLock()
        self._count = 0
        self._looks = 0
        self._names: dict[str, int] = {}
        self._unnamed: list[Tracked] = []
        self._unseen: list[Tracked] = []  # without a value so far, or never looked at
        self._seen: list[Tracked] = []  # all others that are, or may still be reported
        self._by_ref: dict[int, Tracked] = {}
        self._by_variable: dict[int, Tracked] = {}  # of the unnamed
        self._roles: list[Tracked] = []  # of optimizers
        # Python's collector puts them here, in any thread and between any two lines: no code of ours may run then.
        self._died: deque[Any] = deque()
        self._plan: Plan | None = None
        self._devices = on_devices
        self.placed: Counter[str] = Counter()  # how many were made on each device
        self._groups: list[Group] | None = None
        self._settled = _SETTLED
        self._trains = False
        self._kept_dead: list[Tracked] = []
        self._kept_bytes = 0
        self._of_metrics: list[tuple[str, Any, int, int]] = []  # the first ones: name, handle, kind and size

    @property
    def any(self) -> bool:
        """Whether the program ever made one."""
        return self._count > 0

    @property
    def created(self) -> bool:
        """Whether there are any of which no value was seen so far."""
        return bool(self._unseen)

    def track(self, variable: Any) -> None:
        """A variable was made. One inside a graph of TensorFlow 1 has no value that could be read from outside."""
        handle = getattr(variable, "_handle", None)
        # The other is a second name for a variable we know.
        if not isinstance(handle, EagerTensor) or type(variable).__name__ == "_UnreadVariable":
            return
        if self.ignore:
            self._track_metric(variable, handle)
            return
        with self._lock:
            self.release_dead()
            ref = weakref.ref(variable, self._died.append)
            own_name = str(getattr(variable, "name", "") or "Variable").partition(":")[0]
            dtype = variable.dtype
            one = Tracked(
                ref, handle, dtype.as_datatype_enum, dtype.is_integer, size_of(variable), shape_of(variable), self._count,
                own_name, user_site(),
            )  # fmt: skip
            self._count += 1
            self.placed[handle.device.rpartition("device:")[2]] += 1
            self._unnamed.append(one)
            self._unseen.append(one)
            self._by_ref[id(ref)] = self._by_variable[id(variable)] = one
            if not self._trains and self._kept_bytes < _KEPT_BYTES:
                one.kept = True
                self._kept_bytes += one.size

    def _track_metric(self, variable: Any, handle: Any) -> None:
        """Kept alive, as it is small: a program that evaluates in a loop of its own leaves there what came of it."""
        size = size_of(variable)
        if size <= _LARGEST_OF_METRICS and len(self._of_metrics) < _MOST_OF_METRICS:
            name = str(variable.name).partition(":")[0]
            self._of_metrics.append((f"metric/{name}", handle, variable.dtype.as_datatype_enum, size))

    def of_metrics(self) -> list[Block]:
        """The variables of metrics, as the program leaves them."""
        read = [(name, read_handle(handle, kind, size)) for name, handle, kind, size in self._of_metrics]
        found = [(name, array) for name, array in read if array is not None]
        return [Block.of("final", found)] if found else []

    def set_path(self, variable: Any, path: str) -> None:
        """Keras names a variable that it has just made."""
        with self._lock:
            one = self._by_variable.get(id(variable))
            if one is not None and one.ref() is variable:
                one.path = path

    def known(self, variables: Sequence[Any]) -> list[Tracked]:
        """What is known of these, which were just made; empty where one of them is not tracked."""
        with self._lock:
            found = [self._by_variable.get(id(variable)) for variable in variables]
            tracked = [one for one in found if one is not None]
            return tracked if len(tracked) == len(found) else []

    def release_kept(self) -> None:
        """The program trains, and its variables are seen at its steps. Until then the first ones are kept: a program
        that never trains is looked at once, at its end, and their values may be asked for."""
        with self._lock:
            self._trains = True
            kept, self._kept_dead = self._kept_dead, []
            for one in kept:
                self._release(one)

    def release_dead(self) -> None:
        """See the last value of those that have died, and free their memory."""
        while self._died:
            with self._lock:
                try:
                    one = self._by_ref.pop(id(self._died.popleft()))
                except IndexError:  # another thread has just taken it
                    return
                if one.kept and not self._trains:
                    self._kept_dead.append(one)
                else:
                    self._release(one)

    def _release(self, one: Tracked) -> None:
        (one.last,) = self._looked_at([one])
        one.handle = None
        self._plan = None  # it has handles too

    def reported(self) -> list[Tracked]:
        """All that are reported, named."""
        with self._lock:
            self.release_dead()
            self._name()
            return [one for one in (*self._seen, *self._unseen) if one.reported]

    def assign_roles(self, of_optimizer: Sequence[Any], iteration: Any) -> None:
        """These variables are an optimizer's, and one of them counts its steps. Of one that replicas share, its copies are
        tracked."""
        roles: dict[int, str] = {}
        for variable in of_optimizer:
            is_rate = "learning_rate" in str(variable.name).rpartition("/")[2]
            role = "iteration" if variable is iteration else "learning-rate" if is_rate else "optimizer"
            shared = isinstance(variable, tf.distribute.DistributedValues)
            roles |= dict.fromkeys(map(id, variable._values if shared else (variable,)), role)
        with self._lock:
            for one in self._by_ref.values():
                variable = one.ref()
                if variable is not None and id(variable) in roles:
                    one.role = roles[id(variable)]
                    self._roles.append(one)

    def roles(self) -> dict[str, str]:
        """The role of each variable that has one, by name."""
        return {one.name: one.role for one in self._roles if one.name}

    def omitted(self, name: str) -> np.ndarray | None:
        """The value of one that has not changed for too long to be reported: it has changed in another twin."""
        with self._lock:
            return next((one.value() for one in self._seen if one.name == name and not one.reported), None)

    def _name(self) -> None:
        unnamed, self._unnamed = self._unnamed, []
        self._by_variable.clear()
        for one in unnamed:
            base = one.path or name_at_site(one.own_name, one.site)
            count = self._names[base] = self._names.get(base, 0) + 1
            one.name = base if count == 1 else f"{base}#{count}"
            one.phase = "seed" if one.is_integer and is_seed_state(one.name) else "weights"

    def _admit(self) -> list[Tracked]:
        """Take over those of the unseen that have a value now, and return them."""
        waiting = self._unseen
        for one in waiting:
            one.on_device = one.on_device or self._is_digested_on_device(one)
        self._announce(waiting)
        digests = self._looked_at(waiting)
        admitted, self._unseen = [], []
        for one, digest in zip(waiting, digests, strict=True):
            if digest is not None:
                one.digest, one.changed = digest, self._looks
                admitted.append(one)
            elif one.handle is not None:
                self._unseen.append(one)
        if admitted:
            self._seen += admitted
            self._plan = self._groups = None
        return admitted

    def _announce(self, tracked: Sequence[Tracked]) -> None:
        """XLA compiles the digest of those on a GPU when they are first looked at, and once more for all of them."""
        if count := sum(one.on_device for one in tracked):
            self._doing(f"compiling the digest of {counted(count, 'variable')} on the GPU")

    def _is_digested_on_device(self, one: Tracked) -> bool:
        if not self._devices or one.handle is None or not device_digest.is_gpu(one.handle.device):
            return False
        if (trouble := device_digest.trouble_on(one.handle.device)) is not None:
            self.digest_on_host(trouble)
        return self._devices and device_digest.can_digest(tf.as_dtype(one.kind), one.shape)

    def _looked_at(self, tracked: Sequence[Tracked]) -> list[int | None]:
        """The digests of these, all of the same kinds: where a device fails, from the host."""
        try:
            return [one.look() for one in tracked]
        except NotOnDevice as problem:
            self.digest_on_host(str(problem))
            return [one.look() for one in tracked]

    def digest_on_host(self, trouble: str) -> None:
        """From now on, for all of them: two twins do the same at the same step. The last digest of a dead one stays what
        it is."""
        self._note(
            f"variables on the GPU are copied to the host at every step, as it cannot digest them: {trouble}"
        )
        self._devices, self._plan = False, None
        for one in (*self._seen, *self._unseen):
            one.on_device = one.on_device and one.handle is None

    def blocks(self, phase: str, only_new: bool = False, moved: bool = False) -> list[Block]:
        """The variables as they are now. In phase `weights`, states of random streams go under `seed`. `only_new`: those
        that were never looked at, and with `moved` those that have another value since."""
        with self._lock:
            self.release_dead()
            self._name()
            known = self._moved() if moved else []
            admitted = self._admit() if self._unseen else []
            if phase != "final":
                self.release_kept()
            groups = grouped([*known, *admitted]) if only_new else self._look()
            return [
                block_of_group("seed" if kind == "seed" else phase, names, members)
                for kind, names, members in groups
            ]

    def _moved(self) -> list[Tracked]:
        moved = []
        for one, digest in zip(self._seen, self._looked_at(self._seen), strict=True):
            if digest is not None and digest != one.digest:
                one.digest = digest
                moved.append(one)
        return moved

    def begin_look(self) -> bool:
        """A step is on its way: what lies on GPUs is digested as soon as they have computed it, while the host goes on.
        Returns whether anything is."""
        plan = self._plan  # another thread may drop it
        with contextlib.suppress(NotOnDevice):  # as the look itself will find
            return plan is not None and plan.begin()
        return False

    def forget_look(self) -> None:
        """A variable may have changed since."""
        plan = self._plan
        if plan is not None:
            plan.forget()

    def _digests(self) -> list[tuple[Tracked, int | None]]:
        """The digests of all that are seen, as they are now."""
        try:
            if self._plan is None:
                self._plan = Plan(self._seen)
            elif self._plan.looks == self._settled and not self._plan.settled:
                self._announce(self._seen)
                self._plan = Plan(self._seen, settled=True)
                self._settled *= 2  # where they come and go, it is made ever more rarely
            return list(zip(self._plan.tracked, self._plan.digests(), strict=True))
        except NotOnDevice as problem:
            self.digest_on_host(str(problem))
            return self._digests()

    def _look(self) -> list[Group]:
        self._looks += 1
        looks, recent, lately = self._looks, self._count - _RECENT, self._looks - _LOOKS
        regroup = False
        for one, digest in self._digests():
            reported = True
            if digest != one.digest and digest is not None:
                one.digest = digest
                one.changed = looks
            else:
                reported = one.changed > lately or one.number >= recent
            if reported is not one.reported:
                one.reported = reported
                regroup = True
        if regroup:  # a dead one does not come back
            seen = [one for one in self._seen if one.reported or one.handle is not None]
            if len(seen) < len(self._seen):
                self._seen, self._plan = seen, None
        if regroup or self._groups is None:
            self._groups = grouped([one for one in self._seen if one.reported])
        return self._groups
