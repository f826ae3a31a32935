"""The op trace, for an experiment: functions run eagerly, and every op's inputs and outputs are digested, so that two
twins can be compared op by op at the step where they part. Each op knows its user's line and its layer; a gradient's
op, which has no line of its own, takes those of the forward op it belongs to."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.data.ops import structured_function
from tensorflow.python.eager import context
from tensorflow.python.framework import op_callbacks, op_def_registry

from twinrun.frameworks.tensorflow.tensors import EagerTensor, as_array
from twinrun.recording.digest import digest_array
from twinrun.twin.event_log import caller
from twinrun.twin.recorder import Watch

_MOST_ROWS = 20_000
_MOST_KNOWN = 200_000
_MOST_USES = 16  # of one tensor
_QUIET = {"ReadVariableOp", "NoOp", "Const", "VarHandleOp", "AssignVariableOp"}


class OpTrace:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._frames = -1
        self._rows: list[dict[str, Any]] = []
        self._previous: list[dict[str, Any]] = []
        self._fed: list[dict[str, Any]] = []  # of the input pipeline
        self._digests: dict[int, str] = {}
        self._forward: dict[int, list[dict[str, Any]]] = {}  # by tensor: the forward ops that used or made it
        self._trained: set[int] = (
            set()
        )  # tensors that a variable has gone into: gradients flow through these alone

    def seen(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is not None or not self._watch.alive or self._watch.standing:
            return
        if getattr(_here, "feeding", False):
            self._seen_in_pipeline(op_type, inputs, outputs)
            return
        if self._frames != self._watch.frames:  # a step was closed: this op belongs to the next
            self._frames = self._watch.frames
            # A step that is closed lazily ran its forward pass before the frame of the step before it.
            self._previous, self._rows = self._rows, []
            if len(self._digests) > _MOST_KNOWN:
                self._digests, self._forward, self._trained = {}, {}, set()
        name = _name(op_type)
        if name == "ReadVariableOp":
            self._trained.update(_ids(outputs))
        if name in _QUIET or len(self._rows) >= _MOST_ROWS:
            return
        backward = _in_gradient()
        row = self._row(name, inputs, outputs, gradient=backward)
        if backward:
            origin = self._origin(name, inputs)
            if origin is not None:
                row.update(
                    file=origin["file"], line=origin["line"], layer=origin["layer"], forward=origin["op"]
                )
        else:
            if not self._trained.isdisjoint(_ids(inputs)):
                self._trained.update(_ids(outputs))
                row["trained"] = True
            for number in _ids((*inputs, *outputs)):
                known = self._forward.setdefault(number, [])
                if len(known) < _MOST_USES:
                    known.append(row)
        self._rows.append(row)

    def _seen_in_pipeline(self, op_type: Any, inputs: Any, outputs: Any) -> None:
        """The pipeline runs ahead of the steps, so its ops are kept apart, from the first on."""
        name = _name(op_type)
        if name not in _QUIET and len(self._fed) < _MOST_ROWS:
            self._fed.append(self._row(name, inputs, outputs))

    def _row(self, name: str, inputs: Any, outputs: Any, *, gradient: bool = False) -> dict[str, Any]:
        who = caller()
        return {
            "op": name,
            "inputs": [self._digest(tensor) for tensor in inputs],
            "outputs": [self._digest(tensor) for tensor in outputs],
            "file": who.file if who else None,
            "line": who.line if who else None,
            "layer": _layer(),
            "gradient": gradient,
            "stateful": _is_stateful(name),
        }

    def _origin(self, name: str, inputs: Any) -> dict[str, Any] | None:
        """The forward op of a gradient's op: one that shares a tensor with it, best of all one of like name that a
        variable has gone into. Gradients are taken backwards: of several the last is the one."""
        shared = [row for number in _ids(inputs) for row in self._forward.get(number, ())]
        alike = [row for row in shared if name.startswith(row["op"])]
        trained = [row for row in alike if row.get("trained")]
        return trained[-1] if trained else alike[-1] if alike else shared[0] if shared else None

    def _digest(self, tensor: Any) -> str | None:
        if not isinstance(tensor, EagerTensor):
            return None
        found = self._digests.get(tensor._id)
        if found is None:
            array = as_array(tensor)
            if array is None:
                return None
            found = self._digests[tensor._id] = f"{digest_array(array):016x}"
        return found

    def rows(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ops": [*self._previous, *self._rows], "fed": self._fed}


def install(watch: Watch) -> None:
    trace = OpTrace(watch)
    tf.config.run_functions_eagerly(True)
    op_callbacks.add_op_callback(trace.seen)
    if watch.spec.experiment.get("trace_ops") == "pipeline":
        tf.data.experimental.enable_debug_mode()
        wrapper = structured_function.StructuredFunctionWrapper
        wrapper.__init__ = _traced_stages(trace, wrapper.__init__)
    watch.answers["ops"] = trace.rows


_here = threading.local()


def _traced_stages(trace: OpTrace, original: Callable[..., Any]) -> Callable[..., Any]:
    """In tf.data's debug mode the functions of a pipeline run eagerly, in threads of its own: each of those has
    callbacks of its own."""

    def __init__(self: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:  # noqa: N807
        convert = ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED)

        @functools.wraps(func)
        def traced(*element: Any, **more: Any) -> Any:
            if not context.executing_eagerly():
                return autograph.tf_convert(func, convert)(*element, **more)
            _here.feeding = True
            op_callbacks.add_op_callback(trace.seen)
            try:
                return func(*element, **more)
            finally:
                op_callbacks.remove_op_callback(trace.seen)
                _here.feeding = False

        original(self, autograph.do_not_convert(traced), *args, **kwargs)

    return __init__


def _name(op_type: Any) -> str:
    return op_type.decode() if isinstance(op_type, bytes) else str(op_type)


@functools.lru_cache(maxsize=1024)
def _is_stateful(name: str) -> bool:
    definition = op_def_registry.get(name)
    return definition is not None and bool(definition.is_stateful)


def _ids(tensors: Any) -> list[int]:
    return [tensor._id for tensor in tensors if isinstance(tensor, EagerTensor)]


def _in_gradient() -> bool:
    frame = sys._getframe(2)
    for _ in range(60):
        if frame is None:
            return False
        if (
            frame.f_code.co_name in ("gradient", "jacobian")
            and "tensorflow/python/eager/backprop" in frame.f_code.co_filename
        ):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _layer() -> str | None:
    """The innermost Keras layer whose call is under way."""
    frame = sys._getframe(3)
    while frame is not None:
        if frame.f_code.co_name == "call":
            owner = frame.f_locals.get("self")
            name = getattr(owner, "name", None)
            if isinstance(name, str) and hasattr(owner, "weights"):
                return name
        frame = frame.f_back  # type: ignore[assignment]
    return None
