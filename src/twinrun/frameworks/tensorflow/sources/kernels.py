"""Kernels: how TensorFlow computes. Op determinism, threads, oneDNN and XLA; what matters on a GPU is in `gpu.py`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from twinrun.frameworks.tensorflow import runtime
from twinrun.frameworks.tensorflow.runtime import config, context, tf
from twinrun.frameworks.tensorflow.sources import gpu
from twinrun.protocol.control import Control, NotApplied, Reading, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.source import Source
from twinrun.protocol.variation import Setting, Variation
from twinrun.sources.ops import available_cpus, thread_variable
from twinrun.twin.session import current

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
# Op determinism refuses to draw without a seed.
_SEEDS = (
    "python-random",
    "numpy-random",
    "tensorflow-seed",
    "tensorflow-generator",
    "keras-seed",
    "tf-keras-seed",
)


def _op_determinism() -> bool:
    return bool(config.is_op_determinism_enabled())


def _set_op_determinism(on: bool) -> None:
    if on:
        config.enable_op_determinism()
    else:
        config.disable_op_determinism()
    if runtime.is_started():
        context.context().clear_kernel_cache()  # kernels that exist decided when they were made


def _read_op_determinism(request: PinRequest | None) -> Reading:
    applied = runtime.is_applied("op-determinism")
    if _op_determinism():
        in_environment = os.environ.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
        return Reading("on", "twinrun" if applied else "environment" if in_environment else "program", True)
    if applied:
        return Reading("off", "program", False, "the program switched it off")
    return Reading("off", "default", False, "ops may race: the same inputs may give different bits")


def _thread_control(kind: str, protects: str) -> Control:
    """The control of TensorFlow's `kind` ("intra" or "inter") threads."""
    name, variable = f"{kind}-op-threads", f"TF_NUM_{kind.upper()}OP_THREADS"

    def option(verb: str) -> Any:
        return getattr(tf.config.threading, f"{verb}_{kind}_op_parallelism_threads")

    def wanted(request: PinRequest) -> int:
        """A number that is set in the environment is somebody's decision about this machine, and is kept."""
        return request.threads or thread_variable(variable) or available_cpus()

    def apply(request: PinRequest) -> Undo:
        # Where a launch varies the threads between twins, the variable has this twin's number.
        launched_with = thread_variable(variable) if current().pins.launched else None
        try:
            option("set")(launched_with or wanted(request))
        except RuntimeError:
            raise NotApplied("TensorFlow has already started; pin before the first op") from None
        kept = "TensorFlow cannot change its threads once it has started"
        return lambda: kept if runtime.is_started() else option("set")(0)

    def read(request: PinRequest | None) -> Reading:
        configured, written = option("get")(), thread_variable(variable)
        if configured and configured == current().pins.applied.get(name):
            return Reading(configured, "twinrun", True)
        if configured and configured != written:
            return Reading(configured, "program", True)
        if written:
            return Reading(written, "environment", True)
        why = "as many as this process may use processors: another machine computes other bits"
        return Reading(available_cpus(), "default", False, why)

    return runtime.before_first_op(
        name,
        protects,
        f"tf.config.threading.set_{kind}_op_parallelism_threads(2) (or another fixed number)",
        wanted=wanted,
        apply=apply,
        read=read,
        at_launch=lambda request: {variable: str(wanted(request))},
    )


def _varied_threads(number: int) -> Setting:
    count = str((2, 1, 3, 4)[number % 4])
    return count, {"TF_NUM_INTRAOP_THREADS": count, "OMP_NUM_THREADS": count}


def _wanted_onednn(request: PinRequest) -> str:
    """On unless the environment says off: on is the default where the processor suits it, and faster."""
    return "off" if os.environ.get(_ONEDNN) == "0" else "on"


def _onednn(wanted: str) -> tuple[str, bool]:
    """Whether it is on or off, and whether that is not what was wanted, on a processor that leaves the choice."""
    effective = "on" if runtime.build.IsMklEnabled() else "off"
    return effective, effective != wanted and runtime.build.IsX86Available()


def _apply_onednn(request: PinRequest) -> None:
    effective, wrong = _onednn(_wanted_onednn(request))
    if wrong:
        raise NotApplied(f"TensorFlow was imported with oneDNN {effective}; pin before that")


def _read_onednn(request: PinRequest | None) -> Reading:
    pins, written = current().pins, os.environ.get(_ONEDNN)
    effective, wrong = _onednn("off" if written == "0" else "on")
    if written is None:
        as_asked = pins.applied.get("onednn") == effective  # as it happens
        why = "the processor model decides: other machines may decide otherwise"
        return Reading(effective, "default", as_asked, None if as_asked else why)
    if wrong:
        why = "the variable was changed after TensorFlow had been imported"
        return Reading(effective, "default", False, why)
    return Reading(effective, "twinrun" if pins.environment.get(_ONEDNN) == written else "environment", True)


def _xla_variables(request: PinRequest) -> Mapping[str, str]:
    """TF_XLA_FLAGS without the one that switches auto-clustering on; XLA_FLAGS stay as they are, and are shown."""
    flags = os.environ.get("TF_XLA_FLAGS")
    if not flags:
        return {}
    kept = [flag for flag in flags.split() if not flag.startswith("--tf_xla_auto_jit")]
    return {"TF_XLA_FLAGS": " ".join(kept)}


def _read_xla(request: PinRequest | None) -> Reading:
    clustering = bool(tf.config.optimizer.get_jit())
    flags = {name: os.environ[name] for name in ("XLA_FLAGS", "TF_XLA_FLAGS") if os.environ.get(name)}
    state = {"auto_clustering": clustering, **flags}
    asked_by_flag = "--tf_xla_auto_jit" in flags.get("TF_XLA_FLAGS", "")
    if asked_by_flag or clustering:
        why = "XLA chooses what to compile, and compiled code gives other bits"
        return Reading(state, "environment" if asked_by_flag else "program", False, why)
    applied = runtime.is_applied("xla")
    return Reading(state, "twinrun" if applied else "environment" if flags else "default", True)


class Kernels(Source):
    name = "kernels"
    codes = ("TW402", "TW406")
    controls = (
        runtime.before_first_op(
            "op-determinism",
            "ops whose kernels race: the same inputs then give the same bits, or the op refuses to run",
            "tf.config.experimental.enable_op_determinism()",
            refusal="TW406",
            wanted=lambda request: "on",
            apply=runtime.switch(_op_determinism, _set_op_determinism, True),
            read=_read_op_determinism,
            needs=_SEEDS,
        ),
        _thread_control("intra", "the order of sums inside an op, which depends on the number of threads"),
        _thread_control("inter", "how many independent ops run at the same time"),
        Control(
            name="onednn",
            protects="the choice between oneDNN's and TensorFlow's own CPU kernels, which give different bits",
            moment="before TensorFlow is imported",
            how=f"start the program with {_ONEDNN}=1 (or 0): left alone, the processor model decides",
            wanted=_wanted_onednn,
            apply=_apply_onednn,
            read=_read_onednn,
            module="tensorflow",
            at_launch=lambda request: {_ONEDNN: "0" if _wanted_onednn(request) == "off" else "1"},
        ),
        runtime.before_first_op(
            "xla",
            "which parts of a graph XLA compiles without being asked (auto-clustering changes bits)",
            "tf.config.optimizer.set_jit(False), and no --tf_xla_auto_jit in TF_XLA_FLAGS",
            wanted=lambda request: "no auto-clustering",
            apply=runtime.switch(
                lambda: context.context()._optimizer_jit,
                lambda value: setattr(context.context(), "optimizer_jit", value),
                False,
            ),
            read=_read_xla,
            at_launch=_xla_variables,
        ),
        *gpu.CONTROLS,
    )
    variations = (
        Variation(
            name="threads",
            summary="TensorFlow's intra-op threads and OMP_NUM_THREADS",
            of=_varied_threads,
            code="TW402",
            message="the bits depend on the number of threads",
            traces_ops=True,
        ),
    )
