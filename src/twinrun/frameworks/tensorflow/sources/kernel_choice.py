"""Which code computes an op: the algorithm that a GPU's library picks by timing several (TW404), and XLA's (TW405)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from twinrun.frameworks.layers import place, where_compiled
from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.runtime import tf
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, one
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.source import Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.protocol.variation import Variation, inside
from twinrun.twin.callers import Caller, caller, is_unseen

# What cuDNN computes, and what TensorFlow times its algorithms for.
_CONVOLUTIONS = ("conv2d", "conv3d", "conv2d_backprop_input", "conv3d_backprop_input_v2")
_NO_AUTOTUNING = "--xla_gpu_autotune_level=0"
_BY_CUDNN, _BY_XLA = "time", "xla"
_FOR_GPU, _FOR_CPU = "compile-for-gpu", "compile"
_COMPUTED = Weight(init=-20, batch=-20, later=5)  # tried after the ops themselves were compared
_COMPILED = Weight(init=-20, batch=-20, later=8)


def _on_gpu() -> bool:
    """Asked each time: a program may still hide its GPUs."""
    return bool(tf.config.get_visible_devices("GPU"))


def _convolution(session: Any, original: Any) -> Any:
    def convolution(*args: Any, **kwargs: Any) -> Any:
        if session.log.recording and _on_gpu():
            session.log.record("kernel-choice", _BY_CUDNN, _here(), original.__name__)
        return original(*args, **kwargs)

    return convolution


def _here() -> Caller | None:
    """The layer's own line, where there is one."""
    who, found = caller(), place()
    if who is None or found.file is None or found.line is None:
        return who
    return Caller(found.file, found.line, who.function, who.via, who.context, who.near, who.entry)


class KernelChoice(Source):
    name = "kernel-choice"
    codes = ("TW404",)
    weight = _COMPUTED
    actions = (_BY_CUDNN, _BY_XLA)
    points = tf_points(
        "ops.gen_nn_ops:{}",
        _CONVOLUTIONS,
        _convolution,
        "on a GPU the algorithm of a convolution is chosen by timing several",
    )

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        """Convolutions; and where XLA compiles, its matrix products too, which is then more likely than that an op races:
        what XLA makes of the ops is not what they do by themselves. Which of the two it is, is for experiments to say:
        a program may have both, and each is fixed by a setting of its own."""
        timed = [one(pair) for pair in evidence.of(self.name, _BY_CUDNN)]
        if timed:
            what = "the GPU's library chose the algorithm of this convolution by timing several"
            yield self._chosen(timed[0], _BY_CUDNN, what, "TF_CUDNN_USE_AUTOTUNE=0", self.weight)
        compiled = [one(pair) for pair in evidence.of("compiler", _FOR_GPU)]
        if compiled:
            what, setting = (
                "XLA chose how to compute this by timing several ways",
                f"XLA_FLAGS={_NO_AUTOTUNING}",
            )
            yield self._chosen(compiled[0], _BY_XLA, what, setting, _COMPILED)

    def _chosen(self, event: Event, by: str, what: str, setting: str, weight: Weight) -> Suspect:
        return Suspect(
            self.name,
            self.code,
            f"{what}, and may choose another in every run",
            (Freeze(self.name, by),),
            event.file,
            event.line,
            weight,
            experiment=f"with {setting}",
            in_words=f"start the program with {setting}",
            fix=f"kernel-choice by {by}",
        )

    def freeze_environment(self, freeze: Freeze) -> Mapping[str, str]:
        flags = os.environ.get("XLA_FLAGS", "")
        known = {
            _BY_CUDNN: {"TF_CUDNN_USE_AUTOTUNE": "0"},
            _BY_XLA: {"XLA_FLAGS": f"{flags} {_NO_AUTOTUNING}".strip()},
        }
        chosen = [known[by] for by in self.actions if freeze.covers(self.name, by)]
        return {name: value for variables in chosen for name, value in variables.items()}


def _function(session: Any, original: Any) -> Any:
    """Around `Function.__init__`, where a program or Keras asks XLA to compile a function."""
    log = session.log
    compiles_not = session.varied.get("xla") == "off"

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if kwargs.get("jit_compile") and not is_unseen():  # else it is a function of ours
            who = where_compiled() or caller()
            action = _FOR_GPU if _on_gpu() else _FOR_CPU
            log.record("compiler", action, who, "jit_compile=True")
            if compiles_not or log.frozen("compiler", action, who) is not None:
                kwargs["jit_compile"] = None
        original(self, *args, **kwargs)

    return __init__


class Compiler(Source):
    name = "compiler"
    codes = ("TW405",)
    weight = _COMPUTED
    actions = (_FOR_GPU, _FOR_CPU)
    points = (
        tf_point(
            "eager.polymorphic_function.polymorphic_function:Function.__init__",
            _function,
            "compiled by XLA, a function gives other bits, and may give other bits in every run",
        ),
    )
    variations = (
        Variation(
            name="xla",
            summary="functions that XLA compiles: compiled in the first twin, not in the others",
            of=inside("as it is", "off"),
            code="TW405",
            message="the bits depend on whether XLA compiles",
        ),
    )

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        """On a GPU alone: what XLA compiles for a processor repeats."""
        return self._compiled(evidence, _FOR_GPU)

    def reached_by(self, variation: str, evidence: Evidence) -> Iterator[Suspect]:
        return self._compiled(evidence, *self.actions)

    def _compiled(self, evidence: Evidence, *actions: str) -> Iterator[Suspect]:
        message = "compiled by XLA, this does not give the same bits in every run"
        for pair in evidence.of(self.name, *actions):
            # Without XLA other ops run, which may race as well: it is tried alone, where nothing else helps.
            yield self.suspect(
                [one(pair)], message, experiment="without XLA there", fix="compiler", last_resort=True
            )
