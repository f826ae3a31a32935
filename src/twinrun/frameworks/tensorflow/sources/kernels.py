"""Kernels: how TensorFlow computes. Op determinism, threads, oneDNN and XLA; what matters on a GPU is in `gpu.py`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from twinrun.frameworks.tensorflow.sources import gpu
from twinrun.frameworks.tensorflow.sources.runtime import is_started
from twinrun.protocol.control import Control, NotApplied, Reading, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.source import Source
from twinrun.protocol.variation import Setting, Variation
from twinrun.sources.ops import available_cpus, thread_variable
from twinrun.twin.session import current

# Op determinism refuses to draw without a seed.
_SEEDS = (
    "python-random",
    "numpy-random",
    "tensorflow-seed",
    "tensorflow-generator",
    "keras-seed",
    "tf-keras-seed",
)

# Nothing here starts TensorFlow's runtime when it is applied: the program may still choose devices and threads.

# Op determinism


def _apply_op_determinism(request: PinRequest) -> Undo:
    from tensorflow.python.framework import config

    was_on = config.is_op_determinism_enabled()
    config.enable_op_determinism()
    _forget_kernels()

    def undo() -> None:
        if not was_on:
            config.disable_op_determinism()
            _forget_kernels()

    return undo


def _forget_kernels() -> None:
    """Kernels that exist decided when they were made."""
    from tensorflow.python.eager import context

    if is_started():
        context.context().clear_kernel_cache()


def _read_op_determinism(request: PinRequest | None) -> Reading:
    from tensorflow.python.framework import config

    applied = "op-determinism" in current().pins.applied
    if config.is_op_determinism_enabled():
        in_environment = os.environ.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
        return Reading("on", "twinrun" if applied else "environment" if in_environment else "program", True)
    if applied:
        return Reading("off", "program", False, "the program switched it off")
    return Reading("off", "default", False, "ops may race: the same inputs may give different bits")


# Threads


def _thread_control(kind: str, protects: str) -> Control:
    """The control of TensorFlow's `kind` ("intra" or "inter") threads."""
    name, variable = f"{kind}-op-threads", f"TF_NUM_{kind.upper()}OP_THREADS"

    def option(verb: str) -> Any:
        import tensorflow as tf

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
        return lambda: kept if is_started() else option("set")(0)

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

    return Control(
        name=name,
        protects=protects,
        moment="before the first op",
        how=f"tf.config.threading.set_{kind}_op_parallelism_threads(2) (or another fixed number)",
        wanted=wanted,
        apply=apply,
        read=read,
        module="tensorflow",
        at_launch=lambda request: {variable: str(wanted(request))},
    )


def _varied_threads(number: int) -> Setting:
    count = str((2, 1, 3, 4)[number % 4])
    return count, {"TF_NUM_INTRAOP_THREADS": count, "OMP_NUM_THREADS": count}


# oneDNN


def _wanted_onednn(request: PinRequest) -> str:
    """On unless the environment says off: on is the default where the processor suits it, and faster."""
    return "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "on"


def _apply_onednn(request: PinRequest) -> None:
    from tensorflow.python.util import _pywrap_util_port as build

    wanted = _wanted_onednn(request)
    if _effective_onednn() != wanted and build.IsX86Available():
        raise NotApplied(f"TensorFlow was imported with oneDNN {_effective_onednn()}; pin before that")


def _effective_onednn() -> str:
    from tensorflow.python.util import _pywrap_util_port as build

    return "on" if build.IsMklEnabled() else "off"


def _read_onednn(request: PinRequest | None) -> Reading:
    from tensorflow.python.util import _pywrap_util_port as build

    pins, effective = current().pins, _effective_onednn()
    written = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    if written is None and pins.applied.get("onednn") == effective:  # as asked for, as it happens
        return Reading(effective, "default", True)
    if written is None:
        why = "the processor model decides: other machines may decide otherwise"
        return Reading(effective, "default", False, why)
    if ("off" if written == "0" else "on") != effective and build.IsX86Available():
        why = "the variable was changed after TensorFlow had been imported"
        return Reading(effective, "default", False, why)
    ours = pins.environment.get("TF_ENABLE_ONEDNN_OPTS") == written
    return Reading(effective, "twinrun" if ours else "environment", True)


# XLA


def _xla_variables(request: PinRequest) -> Mapping[str, str]:
    """TF_XLA_FLAGS without the one that switches auto-clustering on; XLA_FLAGS stay as they are, and are shown."""
    flags = os.environ.get("TF_XLA_FLAGS")
    if not flags:
        return {}
    kept = [flag for flag in flags.split() if not flag.startswith("--tf_xla_auto_jit")]
    return {"TF_XLA_FLAGS": " ".join(kept)}


def _apply_xla(request: PinRequest) -> Undo:
    import tensorflow as tf
    from tensorflow.python.eager import context

    before = context.context()._optimizer_jit
    tf.config.optimizer.set_jit(False)

    def undo() -> None:
        context.context().optimizer_jit = before

    return undo


def _read_xla(request: PinRequest | None) -> Reading:
    import tensorflow as tf

    clustering = bool(tf.config.optimizer.get_jit())
    flags = {name: os.environ[name] for name in ("XLA_FLAGS", "TF_XLA_FLAGS") if os.environ.get(name)}
    state = {"auto_clustering": clustering, **flags}
    asked_by_flag = "--tf_xla_auto_jit" in flags.get("TF_XLA_FLAGS", "")
    if asked_by_flag or clustering:
        why = "XLA chooses what to compile, and compiled code gives other bits"
        return Reading(state, "environment" if asked_by_flag else "program", False, why)
    applied = "xla" in current().pins.applied
    return Reading(state, "twinrun" if applied else "environment" if flags else "default", True)


class Kernels(Source):
    name = "kernels"
    codes = ("TW402", "TW406")
    controls = (
        Control(
            name="op-determinism",
            refusal="TW406",
            protects="ops whose kernels race: the same inputs then give the same bits, or the op refuses to run",
            moment="before the first op",
            how="tf.config.experimental.enable_op_determinism()",
            wanted=lambda request: "on",
            apply=_apply_op_determinism,
            read=_read_op_determinism,
            module="tensorflow",
            needs=_SEEDS,
        ),
        _thread_control("intra", "the order of sums inside an op, which depends on the number of threads"),
        _thread_control("inter", "how many independent ops run at the same time"),
        Control(
            name="onednn",
            protects="the choice between oneDNN's and TensorFlow's own CPU kernels, which give different bits",
            moment="before TensorFlow is imported",
            how="start the program with TF_ENABLE_ONEDNN_OPTS=1 (or 0): left alone, the processor model decides",
            wanted=_wanted_onednn,
            apply=_apply_onednn,
            read=_read_onednn,
            module="tensorflow",
            at_launch=lambda request: {
                "TF_ENABLE_ONEDNN_OPTS": "0" if _wanted_onednn(request) == "off" else "1"
            },
        ),
        Control(
            name="xla",
            protects="which parts of a graph XLA compiles without being asked (auto-clustering changes bits)",
            moment="before the first op",
            how="tf.config.optimizer.set_jit(False), and no --tf_xla_auto_jit in TF_XLA_FLAGS",
            wanted=lambda request: "no auto-clustering",
            apply=_apply_xla,
            read=_read_xla,
            module="tensorflow",
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
