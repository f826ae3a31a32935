"""Programs that build a graph and run it in sessions, as those written for TensorFlow 1 do. A run that updates
variables is a step: what is fed to it is its batch, what it fetches are its loss and results. Its variables are read by a
further run of the same session, which runs nothing but the reads that the variables brought along."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tensorflow.python.framework import errors, ops

from twinrun.frameworks.tensorflow.session_graph import plan
from twinrun.frameworks.tensorflow.tensors import OPAQUE, scalars
from twinrun.recording.digest import digest_array
from twinrun.twin.recorder import Block
from twinrun.twin.steps import Steps

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer

Named = list[tuple[str, Any]]
_LARGEST_OUTPUT = 64 << 20
_HELD = 16  # sessions of a program that never trains, kept to its end: there is no other look at them


@dataclass(frozen=True)
class Held:
    """A variable of a graph. Its value is in a session, and not in every one."""

    name: str
    phase: str
    value: Any  # the tensor that reads it, made with it
    initialised: Any  # the tensor that says whether it has a value, where there is one


class Sessions:
    def __init__(self, observer: Observer) -> None:
        self.watch = observer.watch
        self.steps = Steps(observer.watch, self._state, self._newborn)
        self.read: Callable[..., Any]  # runs a session unwatched
        self._of: weakref.WeakKeyDictionary[Any, dict[str, bool]] = weakref.WeakKeyDictionary()
        self._graphs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: Any = None  # the session that is about to update
        self._round: dict[Any, None] = {}  # sessions that updated in the step that is open
        self._last: list[Any] = []  # those of the step before
        self._idle: dict[Any, None] = {}  # sessions seen before anything was trained
        observer.watch.at_finish.insert(0, self._finish)

    def run(
        self, session: Any, feeds: Named, asked: list[Any], more: bool, call: Callable[[list[Any]], Any]
    ) -> Any:
        """Around one run. `asked`: tensors, then operations; `call` runs it and fetches some tensors more, where it may."""
        try:
            with self.watch.lock:
                found = plan(session.graph, asked, [tensor for tensor, _ in feeds])
                keys = [(self._number(session.graph), name) for name in found.updates]
                self._before(session, keys)
        except Exception as problem:
            self.watch.trouble(problem)
            return call([])
        extra = list(found.drawn) if keys and more else []
        results = call(extra)
        shown = results[: len(results) - len(extra)] if extra else results
        if keys and self.watch.alive:
            try:
                with self.watch.lock:
                    drawn = list(zip(extra, results[len(shown) :], strict=True))
                    self._seen("batch", [*feeds, *drawn])
                    self._outputs(list(zip(asked, shown, strict=False)))
                    self._round[session] = None
                    for key in keys:
                        self.steps.updated(key)
            except Exception as problem:
                self.watch.trouble(problem)
        return shown

    def _before(self, session: Any, keys: list[Any]) -> None:
        if not keys:
            if self.watch.step == 0 and len(self._idle) < _HELD and not self.steps.open:
                self._idle[session] = None
            return
        self._idle.clear()
        self._running = session
        self.steps.about_to_update(keys)

    def _number(self, graph: Any) -> int:
        return self._graphs.setdefault(graph, len(self._graphs))

    def closing(self, session: Any) -> None:
        """Its variables end with it. Where Python collects it, the moment is nobody's choice, and nothing is said."""
        if session in self._round:
            self.steps.close()
        elif session in self._idle and self.watch.step == 0:
            self._running = session
            self._newborn()
        self._idle.pop(session, None)
        self._last = [one for one in self._last if one is not session]
        self.watch.settle()

    # what was fed, fetched and drawn

    def _seen(self, phase: str, found: Named) -> None:
        named = [(_name(tensor), np.asarray(value)) for tensor, value in found]
        if named:
            self.watch.add(_block(phase, named))

    def _outputs(self, found: Named) -> None:
        """A single number is a loss or a metric; anything larger is a result."""
        parts: dict[str, Named] = {"loss": [], "metric": [], "forward": []}
        for tensor, value in found:
            array = np.asarray(value)
            if array.ndim == 0 and array.dtype.kind not in "OSU":
                first = array.dtype.kind not in "iub" and not parts["loss"]
                parts["loss" if first else "metric"].append((tensor, array))
            elif array.nbytes <= _LARGEST_OUTPUT:
                parts["forward"].append((tensor, array))
        for phase, members in parts.items():
            self._seen(phase, members)

    # variables

    def _state(self) -> None:
        for session in self._round:
            self._add(session, self._held(session), "weights")
        self._last = list(self._round)
        self._round.clear()

    def _newborn(self) -> None:
        session = self._running
        seen = self._of.setdefault(session, {})
        fresh = [one for one in self._held(session) if not seen.get(one.name)]
        if fresh:
            self._add(session, fresh, "init")
            self.watch.emit(0)

    def _add(self, session: Any, held: list[Held], phase: str) -> None:
        values = self._fetch(session, [one.value for one in held])
        seen = self._of.setdefault(session, {})
        for kind in ("seed", "weights"):
            members = [(one, value) for one, value in zip(held, values, strict=True) if one.phase == kind]
            if members:
                named = [(one.name, np.asarray(value)) for one, value in members]
                self.watch.add(_block("seed" if kind == "seed" else phase, named))
        seen.update(dict.fromkeys((one.name for one in held), True))

    def _held(self, session: Any) -> list[Held]:
        """The variables that have a value in this session."""
        ready = self._of.setdefault(session, {})  # by name: whether it was shown already
        rows = variables_of(session.graph)
        unknown = [one for one in rows if one.name not in ready]
        asked = [one for one in unknown if one.initialised is not None]
        for one, yes in zip(asked, self._fetch(session, [one.initialised for one in asked]), strict=True):
            if yes:
                ready[one.name] = False
        for one in unknown:
            if one.initialised is None and self._has_value(session, one):
                ready[one.name] = False
        return [one for one in rows if one.name in ready]

    def _has_value(self, session: Any, one: Held) -> bool:
        try:
            self._fetch(session, [one.value])
        except (errors.FailedPreconditionError, errors.NotFoundError):
            return False
        return True

    def _fetch(self, session: Any, tensors: list[Any]) -> list[Any]:
        if not tensors:
            return []
        session._extend_graph()
        outputs = [tensor._as_tf_output() for tensor in tensors]
        values: list[Any] = self.read(session, None, {}, outputs, [], None)
        return values

    def _finish(self) -> None:
        self.steps.close()
        for session in self._last:
            if not session._closed:
                self._add(session, self._held(session), "final")
        for session in list(self._idle):
            if not session._closed:
                self._running = session
                self._newborn()
        self._last, self._running = [], None
        self._idle.clear()


def variables_of(graph: Any) -> list[Held]:
    found: dict[str, Held] = {}
    for variable in graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES):
        value = variable._as_graph_element()
        if value is None or value.dtype.as_datatype_enum in OPAQUE:
            continue
        name = variable.op.name
        phase = "seed" if name.rpartition("/")[2] == "StateVar" and value.dtype.is_integer else "weights"
        found.setdefault(name, Held(name, phase, value, getattr(variable, "_is_initialized_op", None)))
    return list(found.values())


def _name(tensor: Any) -> str:
    """As its author gave it; only a first output goes by the name of its op."""
    return str(tensor.name).removesuffix(":0")


def _block(phase: str, named: list[tuple[str, np.ndarray]]) -> Block:
    arrays = [array for _, array in named]
    return Block(
        phase,
        tuple(name for name, _ in named),
        [digest_array(array) for array in arrays],
        lambda number: arrays[number],
        scalars(arrays) if phase in ("batch", "loss", "metric", "forward") else (),
    )
