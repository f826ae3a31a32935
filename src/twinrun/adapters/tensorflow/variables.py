"""Every variable the program makes, in the order of creation, under a name that means something to its author."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinrun.adapters.tensorflow.reading import Together, read, size_of
from twinrun.adapters.tensorflow.tensors import EagerTensor
from twinrun.launch.sites import user_site
from twinrun.launch.watch import Block
from twinrun.recording.digest import Digester, digest_array

_HELD_BYTES = 256 << 20
# The collector takes about a tenth of a second: it is called when a model's worth of variables was made, or few but
# with many steps between.
_BIRTHS, _LOOKS = 64, 50


@dataclass
class Tracked:
    ref: Callable[[], Any]
    site: tuple[str, int] | None
    order: int
    name: str = ""
    phase: str = "weights"
    seen: bool = False
    digest: int | None = None  # as last seen, of one that has died since


Digested = tuple[str, tuple[str, ...], list[int], list[Tracked]]  # kind, names, digests, members


@dataclass(frozen=True)
class Plan:
    """How to read all variables at every step: worked out once, and again when variables come or go."""

    together: Together | None  # None: one by one
    digester: Digester
    groups: tuple[tuple[str, tuple[str, ...], slice, list[Tracked]], ...]  # kind, names, their part, members


class Variables:
    """Weak references only: the program's variables die when they would have died.

    When that is, no program decides: models are knots of references, which live until Python's collector comes by.
    So a variable that was seen is told of after its death, as it was last seen. One that is dead but not collected can
    change no more either, and twins agree whichever of them collects first. Now and then, counted in births and looks
    and so at the same moment in every twin, the collector is called, and the dead are forgotten."""

    def __init__(self) -> None:
        self.paths: list[
            Callable[[], Iterable[tuple[Any, str]]]
        ] = []  # adapters of Keras name what they made
        self.ignore = False  # while Keras makes the variables of a metric
        self.metric_state = 0
        self._tracked: list[Tracked] = []
        self._rows: list[Tracked] = []
        self._names: dict[str, int] = {}
        self._stale = False
        self._born = False  # a variable, since the last look: a death alone must not decide when to collect
        self._births = 0  # since the collector was called
        self._looks: int | None = None  # likewise
        self._last: list[tuple[list[Tracked], list[int]]] = []  # what the last look saw
        self._dead: list[tuple[str, tuple[str, ...], list[int]]] = []  # kind, names, digests
        self._plan: Plan | None = None
        self._held: list[Any] = []
        self._held_bytes = 0

    def note(self, variable: Any) -> None:
        """A variable was made. `held` keeps it to the end of a program that never trains: there is no other look at it."""
        if (
            self.ignore or type(variable).__name__ == "_UnreadVariable"
        ):  # a second name for a variable we know
            return
        self._tracked.append(Tracked(weakref.ref(variable, self._gone), user_site(), len(self._tracked)))
        self._stale = True
        self._born = True
        self._births += 1
        if self._held_bytes < _HELD_BYTES:
            self._held.append(variable)
            self._held_bytes += size_of(variable)

    def _gone(self, _: Any) -> None:
        self._stale = True
        self._plan = None  # at once: it holds handles, and with them memory that is to be freed

    def release(self) -> None:
        """The program trains: every variable that matters is seen at its steps, none need be kept for the end."""
        self._held.clear()
        self._held_bytes = _HELD_BYTES

    @property
    def newborn(self) -> bool:
        return self._stale

    def rows(self) -> list[Tracked]:
        if self._stale:
            if self._born and (self._looks is None or self._births >= _BIRTHS or self._looks >= _LOOKS):
                self.collect()
            self._stale = self._born = False
            self._plan = None
            self._bury()
            self._name_all()
            self._rows = [one for one in self._tracked if one.name and one.digest is None]
        return self._rows

    def collect(self) -> None:
        """Have Python collect what nobody can reach, and forget it."""
        gc.collect()
        self._tracked = [one for one in self._tracked if one.ref() is not None]
        self._births = self._looks = 0
        self._stale = True

    def _bury(self) -> None:
        for members, digests in self._last:
            for one, digest in zip(members, digests, strict=True):
                if one.digest is None and one.ref() is None:
                    one.digest = digest
        self._tracked = [one for one in self._tracked if one.digest is not None or one.ref() is not None]
        dead = [one for one in self._tracked if one.digest is not None]
        kinds = dict.fromkeys(one.phase for one in dead)
        self._dead = [(kind, *_names_and_digests(one for one in dead if one.phase == kind)) for kind in kinds]

    def _name_all(self) -> None:
        nameless = [one for one in self._tracked if not one.name]
        if not nameless:
            return
        paths = {id(variable): path for source in self.paths for variable, path in source()}
        for one in nameless:
            variable = one.ref()
            if variable is None or not isinstance(getattr(variable, "_handle", None), EagerTensor):
                continue  # made inside a tf.function that is still being traced: asked again next time
            base = paths.get(id(variable)) or _own_name(variable, one.site)
            count = self._names[base] = self._names.get(base, 0) + 1
            one.name = base if count == 1 else f"{base}#{count}"
            one.phase = "seed" if _is_seed_state(variable, one.name) else "weights"

    def blocks(self, phase: str, only_new: bool = False) -> list[Block]:
        """The variables as they are now. In phase `weights`, states of random streams go under `seed`."""
        rows = self.rows()
        if only_new:
            seen = self._read_one_by_one([one for one in rows if not one.seen])
            self._last += [(members, digests) for _, _, digests, members in seen]
        else:
            seen = self._read_together() or self._read_one_by_one(rows)
            self._last = [(members, digests) for _, _, digests, members in seen]
            self._looks = (self._looks or 0) + 1
        alive = [
            Block(_phase(kind, phase), names, digests, _reader(members))
            for kind, names, digests, members in seen
        ]
        dead = [Block(_phase(kind, phase), names, digests) for kind, names, digests in self._dead]
        return alive if only_new else alive + dead

    def _read_one_by_one(self, rows: list[Tracked]) -> list[Digested]:
        chosen: dict[str, tuple[list[str], list[int], list[Tracked]]] = {}
        for one in rows:
            variable = one.ref()
            tensor = None if variable is None else read(variable)
            if tensor is None:
                continue
            one.seen = True
            names, digests, members = chosen.setdefault(one.phase, ([], [], []))
            names.append(one.name)
            digests.append(digest_array(tensor))
            members.append(one)
        return [(kind, tuple(names), digests, members) for kind, (names, digests, members) in chosen.items()]

    def _read_together(self) -> list[Digested] | None:
        """All variables by one op; None when they must be read one by one."""
        if self._plan is None:
            self._plan = _plan(self._rows)
        plan = self._plan
        arrays = plan.together.read() if plan.together is not None else None
        if arrays is None:
            return None
        digests = plan.digester.digest(arrays)
        return [(kind, names, digests[part], members) for kind, names, part, members in plan.groups]


def _phase(kind: str, phase: str) -> str:
    return "seed" if kind == "seed" else phase


def _names_and_digests(dead: Iterable[Tracked]) -> tuple[tuple[str, ...], list[int]]:
    known = [(one.name, one.digest) for one in dead if one.digest is not None]
    return tuple(name for name, _ in known), [digest for _, digest in known]


def _plan(rows: list[Tracked]) -> Plan:
    alive = [(one, variable) for one in rows if (variable := one.ref()) is not None]
    if not alive or not all(Together.fits(variable) for _, variable in alive):
        return Plan(None, Digester(()), ())
    groups: list[tuple[str, tuple[str, ...], slice, list[Tracked]]] = []
    chosen: list[Any] = []
    for kind in dict.fromkeys(one.phase for one, _ in alive):
        members = [one for one, _ in alive if one.phase == kind]
        part = slice(len(chosen), len(chosen) + len(members))
        groups.append((kind, tuple(one.name for one in members), part, members))
        chosen += [variable for one, variable in alive if one.phase == kind]
    for one, _ in alive:
        one.seen = True
    return Plan(Together(chosen), Digester([size_of(variable) for variable in chosen]), tuple(groups))


def _reader(members: list[Tracked]) -> Callable[[int], np.ndarray | None]:
    def value(number: int) -> np.ndarray | None:
        variable = members[number].ref()
        found = None if variable is None else read(variable)
        return None if found is None else found.copy()

    return value


def _is_seed_state(variable: Any, name: str) -> bool:
    last = name.rpartition("/")[2].partition("#")[0]
    return variable.dtype.is_integer and last in ("seed_generator_state", "StateVar")


def _own_name(variable: Any, site: tuple[str, int] | None) -> str:
    """The name it was given; when it was given none, the name it is assigned to on the line that made it."""
    name = str(getattr(variable, "name", "") or "Variable").partition(":")[0]
    if name.rpartition("/")[2] != "Variable" or site is None:
        return name
    return _assigned_name(*site) or name


def _assigned_name(file: str, line: int) -> str | None:
    source = linecache.getline(file, line).strip()
    try:
        statement = ast.parse(source).body[0]
    except (SyntaxError, IndexError):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0] if targets else None
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else None


def device_of(variable: Any) -> str:
    return str(getattr(variable, "device", "")) or sys.platform
