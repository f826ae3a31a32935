"""The op trace, for an experiment: functions run eagerly, and every op's inputs and outputs are digested, so that two
twins can be compared op by op at the step where they part. Each op knows its user's line and its layer; a gradient's
op, which has no line of its own, takes those of the forward op it belongs to."""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from twinrun.adapters.tensorflow.tensors import EagerTensor, as_array
from twinrun.launch.ledger.book import caller
from twinrun.launch.watch import Watch
from twinrun.recording.digest import digest_array

_MOST_ROWS = 20_000
_MOST_KNOWN = 200_000
_QUIET = {"ReadVariableOp", "NoOp", "Const", "VarHandleOp", "AssignVariableOp"}


class OpTrace:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._frames = -1
        self._rows: list[dict[str, Any]] = []
        self._previous: list[dict[str, Any]] = []
        self._digests: dict[int, str] = {}
        self._forward: dict[int, dict[str, Any]] = {}  # by tensor: the forward op that used or made it

    def seen(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is not None or not self._watch.alive or self._watch.standing:
            return
        if self._frames != self._watch.frames:  # a step was closed: this op belongs to the next
            self._frames = self._watch.frames
            # A step that is closed lazily ran its forward pass before the frame of the step before it.
            self._previous, self._rows = self._rows, []
            if len(self._digests) > _MOST_KNOWN:
                self._digests, self._forward = {}, {}
        name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        if name in _QUIET or len(self._rows) >= _MOST_ROWS:
            return
        who = caller()
        backward = _in_gradient()
        row = {
            "op": name,
            "inputs": [self._digest(tensor) for tensor in inputs],
            "outputs": [self._digest(tensor) for tensor in outputs],
            "file": who.file if who else None,
            "line": who.line if who else None,
            "layer": _layer(),
            "gradient": backward,
        }
        if backward:
            origin = self._origin(name, inputs)
            if origin is not None:
                row.update(
                    file=origin["file"], line=origin["line"], layer=origin["layer"], forward=origin["op"]
                )
        else:
            for tensor in (*inputs, *outputs):
                if isinstance(tensor, EagerTensor):
                    self._forward.setdefault(tensor._id, row)
        self._rows.append(row)

    def _origin(self, name: str, inputs: Any) -> dict[str, Any] | None:
        """The forward op of a gradient's op: one that shares a tensor with it, best of all one of like name."""
        shared = [
            self._forward[t._id] for t in inputs if isinstance(t, EagerTensor) and t._id in self._forward
        ]
        alike = [row for row in shared if name.startswith(row["op"])]
        found = alike or shared
        return found[0] if found else None

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
        return {"ops": [*self._previous, *self._rows]}


def install(watch: Watch) -> None:
    trace = OpTrace(watch)
    tf.config.run_functions_eagerly(True)
    op_callbacks.add_op_callback(trace.seen)
    watch.answers["ops"] = trace.rows


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
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "call":
            owner = frame.f_locals.get("self")
            name = getattr(owner, "name", None)
            if isinstance(name, str) and hasattr(owner, "weights"):
                return name
        frame = frame.f_back  # type: ignore[assignment]
    return None
