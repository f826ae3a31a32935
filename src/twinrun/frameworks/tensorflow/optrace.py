"""The op trace: functions run eagerly, and the inputs and outputs of every op are digested, so that two twins can be
compared op by op at the step where they part. Each op has the user's line and the layer it belongs to; an op of a
gradient, which has no line of its own, takes those of its forward op."""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.eager import context
from tensorflow.python.framework import op_callbacks, op_def_registry

from twinrun.frameworks.layers import place
from twinrun.frameworks.packages import tf_point
from twinrun.frameworks.stack import frames
from twinrun.frameworks.tensorflow.tensors import EagerTensor, as_array
from twinrun.protocol.evidence import MOST_OPS, MOST_SAMPLED, Sample, Trace, TracedOp
from twinrun.recording.digest import digest_array
from twinrun.recording.pieces import flat
from twinrun.twin.recorder import Recorder
from twinrun.twin.session import Session

_MOST_KNOWN = 200_000
_MOST_USES = 16  # of one tensor
_IGNORED = {"ReadVariableOp", "NoOp", "Const", "VarHandleOp", "AssignVariableOp"}
_HIDDEN = ("PyFunc", "EagerPyFunc", "Optional")
_BACKPROP = "tensorflow/python/eager/backprop"
_here = threading.local()  # `in_pipeline`: a function of the input pipeline runs in this thread


class OpTrace:
    """The ops of the step under way, and of the one before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sampled = bool(recorder.session.device)  # compared by value with a twin on another
        self._frames = -1
        self._ops: list[TracedOp] = []
        self._previous: list[TracedOp] = []
        self._pipeline: list[TracedOp] = []
        self._digests: dict[int, str] = {}  # by tensor
        self._forward: dict[int, list[TracedOp]] = {}  # by tensor: the forward ops that used or made it
        self._backward = False  # gradients were computed since the last forward op
        self._by_kind: dict[str, list[TracedOp]] = {}  # the forward ops of the step
        self._placed: Counter[str] = Counter()  # ops of gradients that share no tensor with their forward op
        self._gradients: dict[
            int, TracedOp
        ] = {}  # by tensor: what made it, on the way from a gradient to an update
        # Tensors that depend on a variable: gradients flow through these alone.
        self._trained: set[int] = set()

    def on_op(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is not None or not self._recorder.alive or self._recorder.standing:
            return
        name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        if getattr(_here, "in_pipeline", False):
            # The pipeline runs ahead of the steps, so its ops are kept apart, from the first on.
            if name not in _IGNORED and _has_room(self._pipeline):
                self._pipeline.append(self._traced(name, inputs, outputs))
            return
        if self._frames != self._recorder.frames:  # a step was closed: this op belongs to the next
            self._begin_step()
        if name == "ReadVariableOp":
            self._trained.update(_ids(outputs))
        if name in _IGNORED or not _has_room(self._ops):
            return
        op = self._traced(name, inputs, outputs)
        of = _gradient_of()
        op.gradient = of is not None
        made_of = next(
            (self._gradients[number] for number in _ids(inputs) if number in self._gradients), None
        )
        if of is not None:
            self._backward = True
            self._place_gradient(op, inputs, of)
        elif op.layer is None and made_of is not None:  # an optimizer's, which belongs to no layer itself
            op.file, op.line, op.layer = made_of.file, made_of.line, made_of.layer
        else:
            self._add_forward(op, inputs, outputs)
        if of is not None or made_of is not None:
            self._gradients.update(dict.fromkeys(_ids(outputs), op))
        self._ops.append(op)

    def _begin_step(self) -> None:
        self._frames = self._recorder.frames
        # A step that is closed lazily ran its forward pass before the frame of the step before it.
        self._previous, self._ops = self._ops, []
        if len(self._digests) > _MOST_KNOWN:
            self._digests, self._forward, self._trained = {}, {}, set()
        self._gradients = {}

    def _traced(self, name: str, inputs: Any, outputs: Any) -> TracedOp:
        found = place()
        traced = TracedOp(
            op=name,
            inputs=[self._digest(tensor) for tensor in inputs],
            outputs=[self._digest(tensor) for tensor in outputs],
            file=found.file,
            line=found.line,
            layer=found.layer,
            stateful=_is_stateful(name),
        )
        if self._sampled:
            traced.device = next((_device(each) for each in outputs if isinstance(each, EagerTensor)), "")
            traced.samples = [_sample(tensor) for tensor in outputs]
        return traced

    def _add_forward(self, op: TracedOp, inputs: Any, outputs: Any) -> None:
        if not self._trained.isdisjoint(_ids(inputs)):
            self._trained.update(_ids(outputs))
            op.trained = True
        if self._backward and (op.layer is not None or op.trained):  # of the next step
            self._backward = False
            self._by_kind.clear()
            self._placed.clear()
        self._by_kind.setdefault(op.op, []).append(op)
        for number in _ids((*inputs, *outputs)):
            known = self._forward.setdefault(number, [])
            if len(known) < _MOST_USES:
                known.append(op)

    def _place_gradient(self, op: TracedOp, inputs: Any, of: str) -> None:
        """An op of a gradient takes the place of its forward op, `of` this kind: one that shares a tensor with it, best of
        all one that depends on a variable. Gradients run backwards: of several, the last is the one; of those that share
        none, the second of a kind belongs to the last but one."""
        shared = [forward for number in _ids(inputs) for forward in self._forward.get(number, ())]
        alike = [forward for forward in shared if forward.op == of or op.op.startswith(forward.op)]
        trained = [forward for forward in alike if forward.trained]
        found = trained[-1:] or alike[-1:]
        if not found and self._by_kind.get(of):
            self._placed[op.op] += 1
            found = self._by_kind[of][-self._placed[op.op] :][:1]
        for forward in found or shared[:1]:
            op.file, op.line, op.layer, op.forward = forward.file, forward.line, forward.layer, forward.op

    def _digest(self, tensor: Any) -> str | None:
        if not isinstance(tensor, EagerTensor):
            return None
        if tensor._id not in self._digests and (array := as_array(tensor)) is not None:
            self._digests[tensor._id] = f"{digest_array(array):016x}"
        return self._digests.get(tensor._id)

    def trace(self) -> Trace:
        ops = (self._previous, self._ops, self._pipeline)
        previous, step, pipeline = (each[:MOST_OPS] for each in ops)
        return Trace([*previous, *step], pipeline, cut=any(len(each) > MOST_OPS for each in ops))


def _has_room(ops: list[TracedOp]) -> bool:
    """For one more than a trace has, which shows that more ran."""
    return len(ops) <= MOST_OPS


def _device(tensor: Any) -> str:
    return str(tensor.device).rpartition("device:")[2]


def _sample(tensor: Any) -> Sample | None:
    """Elements at equal distances."""
    array = as_array(tensor) if isinstance(tensor, EagerTensor) else None
    if array is None or array.dtype.kind in "OSU" or not array.size:
        return None
    elements = flat(array)
    some = np.ascontiguousarray(elements[:: -(-elements.size // MOST_SAMPLED)])
    return Sample(str(array.dtype), some.tobytes())


def trace_ops(recorder: Recorder, *, pipeline: bool) -> None:
    """From now on functions run eagerly and every op is traced; with `pipeline`, those of the input pipeline too."""
    ops = OpTrace(recorder)
    # Run one by one, convolutions would be timed anew, and another algorithm chosen than in the function itself.
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "0"
    tf.config.run_functions_eagerly(True)
    op_callbacks.add_op_callback(ops.on_op)
    recorder.trace = ops.trace
    if pipeline:
        tf.data.experimental.enable_debug_mode()
        point = tf_point(
            "data.ops.structured_function:StructuredFunctionWrapper.__init__",
            functools.partial(_traced_stage, ops),
            "the functions of an input pipeline run in threads of its own, each with its own op callbacks",
        )
        recorder.session.patches.install("TensorFlow", [point])


def _traced_stage(ops: OpTrace, session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    """In tf.data's debug mode the functions of a pipeline run eagerly."""

    def __init__(self: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:  # noqa: N807
        convert = ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED)

        @functools.wraps(func)
        def traced(*element: Any, **more: Any) -> Any:
            if not context.executing_eagerly():
                return autograph.tf_convert(func, convert)(*element, **more)
            _here.in_pipeline = True
            op_callbacks.add_op_callback(ops.on_op)
            try:
                return func(*element, **more)
            finally:
                op_callbacks.remove_op_callback(ops.on_op)
                _here.in_pipeline = False

        original(self, autograph.do_not_convert(traced), *args, **kwargs)

    return __init__


@functools.lru_cache(maxsize=1024)
def _is_stateful(name: str) -> bool:
    """Whether what an op gives may depend on more than its inputs. TensorFlow marks not all that call Python so."""
    definition = op_def_registry.get(name)
    return name.startswith(_HIDDEN) or (definition is not None and bool(definition.is_stateful))


def _ids(tensors: Any) -> list[int]:
    return [tensor._id for tensor in tensors if isinstance(tensor, EagerTensor)]


def _gradient_of() -> str | None:
    """The forward op whose gradient is being computed, empty where that is not known; None where no gradient is."""
    for frame in islice(frames(), 60):
        if _BACKPROP in frame.f_code.co_filename:
            if frame.f_code.co_name == "_gradient_function":
                return str(frame.f_locals.get("op_name", ""))
            if frame.f_code.co_name in ("gradient", "jacobian"):
                return ""
    return None
