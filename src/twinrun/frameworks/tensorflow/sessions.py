"""Programs that build a graph and run it in sessions, as those written for TensorFlow 1 do. A run that updates
variables is a step: what is fed to it is its batch, what it fetches are its loss and results. Its variables are read by a
further run of the same session, which runs nothing but the reads that the variables brought along."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from tensorflow.python.framework import errors, ops

from twinrun.frameworks.tensorflow.evaluations import Evaluations
from twinrun.frameworks.tensorflow.reporting import Guard
from twinrun.frameworks.tensorflow.session_graph import plan_of
from twinrun.frameworks.tensorflow.tensors import OPAQUE, block_of
from twinrun.frameworks.tensorflow.variable_groups import blocks_of
from twinrun.twin.recorder import Recorder
from twinrun.twin.steps import Steps

Named = list[tuple[Any, Any]]  # tensors and their values
Run = Callable[..., Any]
_LARGEST_OUTPUT = 64 << 20
_KEPT_SESSIONS = 16  # of a program that never trains, kept to its end: there is no other look at them


@dataclass(frozen=True)
class GraphVariable:
    """A variable of a graph. Its value is in a session, and not in every one."""

    name: str
    phase: str
    value: Any  # the tensor that reads it, made with it
    initialised: Any  # the tensor that tells whether it has a value, where there is one


class Sessions:
    def __init__(self, recorder: Recorder, evaluations: Evaluations) -> None:
        self.recorder = recorder
        self._evaluations = evaluations
        self.steps = Steps(recorder, self._add_state, self._add_created)
        self._guard = Guard(recorder)
        self._of: weakref.WeakKeyDictionary[Any, dict[str, bool]] = weakref.WeakKeyDictionary()
        self._graphs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: Any = None  # the session that is about to update
        self._round: dict[Any, None] = {}  # sessions that updated in the step that is open
        self._last: list[Any] = []  # those of the step before
        self._idle: dict[Any, None] = {}  # sessions seen before anything was trained
        recorder.at_finish.insert(0, self._finish)

    # what the points report

    def on_run(
        self,
        original: Run,
        session: Any,
        options: Any,
        feed_dict: Any,
        fetch_list: Any,
        target_list: Any,
        metadata: Any,
    ) -> Any:
        """`Session.run` and `Session.make_callable`, with everything composite taken apart already."""
        graph = session.graph
        asked = [graph._get_tensor_by_tf_output(one) for one in fetch_list]
        asked += [graph._get_operation_by_tf_operation(one) for one in target_list]

        def run(extra: list[Any]) -> Any:
            outputs = [*fetch_list, *(tensor._as_tf_output() for tensor in extra)]
            return original(session, options, feed_dict, outputs, target_list, metadata)

        return self._run(session, _feeds(graph, feed_dict), asked, run, can_fetch_more=True)

    def on_partial_run(
        self, original: Run, session: Any, handle: Any, feed_dict: Any, fetch_list: Any
    ) -> Any:
        asked = [session.graph._get_tensor_by_tf_output(one) for one in fetch_list]
        feeds = _feeds(session.graph, feed_dict)
        return self._run(session, feeds, asked, lambda _: original(session, handle, feed_dict, fetch_list))

    def on_prepared(self, result: Any, prepared: Any, session: Any, callable_options: Any) -> None:
        prepared._twinrun_options = callable_options

    def on_callable(self, original: Run, prepared: Any, *args: Any, **kwargs: Any) -> Any:
        graph, options = prepared._session.graph, prepared._twinrun_options
        asked = [graph.as_graph_element(name) for name in (*options.fetch, *options.target)]
        feeds = list(zip(map(graph.as_graph_element, options.feed), args, strict=False))
        return self._run(prepared._session, feeds, asked, lambda _: original(prepared, *args, **kwargs))

    def on_close(self, original: Run, session: Any) -> Any:
        """The program closes it, and its variables end. When Python collects it, at no certain time, nothing is seen."""
        caller = sys._getframe(2)  # of what stands in place of `close`
        if not session._closed and caller.f_code.co_name != "__del__":
            with self._guard:
                self._end(session)
        return original(session)

    def _end(self, session: Any) -> None:
        if session in self._round:
            self.steps.close()
        elif session in self._idle and self.recorder.step == 0:
            self._running = session
            self._add_created()
        self._idle.pop(session, None)
        self._last = [one for one in self._last if one is not session]
        self.recorder.wait_for_parent()

    def _run(
        self, session: Any, feeds: Named, asked: list[Any], run: Run, *, can_fetch_more: bool = False
    ) -> Any:
        """Around one run. `asked`: tensors, then operations; `run` runs it, with some more tensors to fetch where it
        can."""
        keys: list[Any] = []
        extra: list[Any] = []
        evaluates = False
        with self._guard, self.recorder.lock:
            plan = plan_of(session.graph, asked, [tensor for tensor, _ in feeds])
            keys = [(self._number(session.graph), name) for name in plan.updates]
            self._before(session, keys)
            extra = list(plan.drawn) if keys and can_fetch_more else []
            evaluates = plan.evaluates and not self._evaluations.under_way
        results = run(extra)
        own = results[: len(results) - len(extra)] if extra else results
        if keys and self.recorder.alive:
            with self._guard, self.recorder.lock:
                drawn = list(zip(extra, results[len(own) :], strict=True))
                self._add("batch", [*feeds, *drawn])
                self._add_outputs(list(zip(asked, own, strict=False)))
                self._round[session] = None
                for key in keys:
                    self.steps.updated(key)
        elif evaluates and self.recorder.alive:
            with self._guard, self.recorder.lock:
                self._add_results(session, list(zip(asked, own, strict=False)))
        return own

    def _add_results(self, session: Any, found: Named) -> None:
        """A run that updates nothing, and depends on variables, evaluates them. Only numbers: a text may be a path."""
        results = [(_name(tensor), np.asarray(value)) for tensor, value in found]
        if not self.steps.open:
            self._running = session
            self._add_created()
            if session in self._idle and session not in self._last:
                self._last.append(session)
        self._evaluations.add([(name, array) for name, array in results if array.dtype.kind in "fc"])

    def _before(self, session: Any, keys: list[Any]) -> None:
        if not keys:
            if self.recorder.step == 0 and len(self._idle) < _KEPT_SESSIONS and not self.steps.open:
                self._idle[session] = None
            return
        self._idle.clear()
        self._running = session
        self.steps.about_to_update(keys)

    def _number(self, graph: Any) -> int:
        return self._graphs.setdefault(graph, len(self._graphs))

    # what was fed, fetched and drawn

    def _add(self, phase: str, found: Named) -> None:
        one = block_of(phase, ((_name(tensor), np.asarray(value)) for tensor, value in found))
        if one is not None:
            self.recorder.add(one)

    def _add_outputs(self, found: Named) -> None:
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
            self._add(phase, members)

    # variables

    def _add_state(self) -> None:
        self._evaluations.end_step()
        for session in self._round:
            self._add_variables(session, self._initialised(session), "weights")
        self._last = list(self._round)
        self._round.clear()

    def _add_created(self) -> None:
        session = self._running
        reported = self._of.setdefault(session, {})
        created = [one for one in self._initialised(session) if not reported.get(one.name)]
        if created:
            self._add_variables(session, created, "init")
            self.recorder.emit(0)

    def _add_variables(self, session: Any, variables: list[GraphVariable], phase: str) -> None:
        values = self._fetch(session, [one.value for one in variables])
        for block in blocks_of(phase, variables, values):
            self.recorder.add(block)
        self._of.setdefault(session, {}).update(dict.fromkeys((one.name for one in variables), True))

    def _initialised(self, session: Any) -> list[GraphVariable]:
        """The variables that have a value in this session."""
        ready = self._of.setdefault(session, {})  # by name: whether it was reported already
        variables = variables_of(session.graph)
        unknown = [one for one in variables if one.name not in ready]
        asked = [one for one in unknown if one.initialised is not None]
        for one, yes in zip(asked, self._fetch(session, [one.initialised for one in asked]), strict=True):
            if yes:
                ready[one.name] = False
        for one in unknown:
            if one.initialised is None and self._has_value(session, one):
                ready[one.name] = False
        return [one for one in variables if one.name in ready]

    def _has_value(self, session: Any, one: GraphVariable) -> bool:
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
        read = session._call_tf_sessionrun.__wrapped__  # which is not seen
        values: list[Any] = read(session, None, {}, outputs, [], None)
        return values

    def _finish(self) -> None:
        self.steps.close()
        for session in self._last:
            if not session._closed:
                self._add_variables(session, self._initialised(session), "final")
        for session in list(self._idle):
            if not session._closed:
                self._running = session
                self._add_created()
        self._last, self._running = [], None
        self._idle.clear()


_KEYS = (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES)


def variables_of(graph: Any) -> list[GraphVariable]:
    """Global and local ones, but those that count the epochs of an input queue, which runs ahead of the steps."""
    found: dict[str, GraphVariable] = {}
    for variable in chain.from_iterable(map(graph.get_collection, _KEYS)):
        value = variable._as_graph_element()
        if value is None or value.dtype.as_datatype_enum in OPAQUE or _counts_epochs(variable.op):
            continue
        name = variable.op.name
        phase = "seed" if name.rpartition("/")[2] == "StateVar" and value.dtype.is_integer else "weights"
        initialised = getattr(variable, "_is_initialized_op", None)
        found.setdefault(name, GraphVariable(name, phase, value, initialised))
    return list(found.values())


def _name(tensor: Any) -> str:
    """That its author gave it: a first output goes by the name of its op."""
    return str(tensor.name).removesuffix(":0")


def _counts_epochs(variable: Any) -> bool:
    return any(op.type.endswith("CountUpTo") for tensor in variable.outputs for op in tensor.consumers())


def _feeds(graph: Any, feed_dict: Any) -> Named:
    return [(graph._get_tensor_by_tf_output(one), value) for one, value in feed_dict.items()]
