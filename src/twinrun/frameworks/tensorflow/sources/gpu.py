"""The controls that matter on a GPU, and the choice of device itself. Where there is no GPU they do nothing, and their
reading says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from twinrun.frameworks.tensorflow.sources.runtime import is_started
from twinrun.protocol.control import Control, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.twin.session import current


def _gpus() -> list[Any]:
    import tensorflow as tf

    return list(tf.config.get_visible_devices("GPU"))


def _apply_tensor_float_32(request: PinRequest) -> Undo:
    import tensorflow as tf

    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)

    def undo() -> None:
        tf.config.experimental.enable_tensor_float_32_execution(before)

    return undo


def _read_tensor_float_32(request: PinRequest | None) -> Reading:
    import tensorflow as tf

    applied = "tensor-float-32" in current().pins.applied
    if not tf.config.experimental.tensor_float_32_execution_enabled():
        return Reading("off", "twinrun" if applied else "program", True)
    set_by: SetBy = "program" if applied else "default"
    if not _gpus():
        return Reading("on (no GPU here)", set_by, True, idle=True)
    return Reading("on", set_by, False, "float32 products are rounded to 10 bits on this GPU")


def _variable_control(
    name: str, protects: str, state: str, variable: str, value: str, *also_good: str
) -> Control:
    """A control that is one variable, which the libraries below TensorFlow read when the GPU is first used."""

    def apply(request: PinRequest) -> Undo:
        if os.environ.get(variable) != value and is_started() and _gpus():
            raise NotApplied("TensorFlow has already started its GPUs; pin before the first op")
        return current().pins.set_variables({variable: value})

    def read(request: PinRequest | None) -> Reading:
        written = os.environ.get(variable)
        ours = written is not None and current().pins.environment.get(variable) == written
        set_by: SetBy = "twinrun" if ours else "default" if written is None else "environment"
        if not _gpus():
            return Reading(
                f"{'unset' if written is None else written} (no GPU here)", set_by, True, idle=True
            )
        if written in (value, *also_good):
            return Reading(written, set_by, True)
        return Reading(written or "unset", set_by, False, f"{variable} is not set as it should be")

    return Control(
        name=name,
        protects=protects,
        moment="before the first op",
        how=f"start the program with {variable}={value}",
        wanted=lambda request: state,
        apply=apply,
        read=read,
        module="tensorflow",
        at_launch=lambda request: {variable: value},
    )


def _device_variables(request: PinRequest) -> Mapping[str, str]:
    if request.device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "-1"}
    if request.device and request.device.startswith("gpu:"):
        return {"CUDA_VISIBLE_DEVICES": request.device.removeprefix("gpu:")}
    return {}


def _apply_device(request: PinRequest) -> Undo:
    import tensorflow as tf

    before = tf.config.get_visible_devices()
    try:
        if request.device == "cpu":
            tf.config.set_visible_devices([], "GPU")
    except RuntimeError:
        raise NotApplied("TensorFlow has already started with its GPUs; pin before the first op") from None

    def undo() -> str | None:
        if is_started():
            return "TensorFlow cannot change its devices once it has started"
        tf.config.set_visible_devices(before)
        return None

    return undo


def _read_device(request: PinRequest | None) -> Reading:
    import tensorflow as tf

    state = [device.name.removeprefix("/physical_device:") for device in tf.config.get_visible_devices()]
    wanted = request.device if request is not None and request.wants("device") else None
    if wanted is None:
        return Reading(state, "default", True)
    if wanted == "cpu" and _gpus():
        return Reading(state, "program", False, "a GPU is visible")
    if wanted.startswith("gpu") and not _gpus():
        return Reading(state, "default", False, "no GPU is visible")
    return Reading(state, "twinrun", True)


CONTROLS = (
    Control(
        name="tensor-float-32",
        protects="float32 products on newer NVIDIA GPUs, which TensorFloat-32 rounds to 10 bits",
        moment="before the first op",
        how="tf.config.experimental.enable_tensor_float_32_execution(False)",
        wanted=lambda request: "off",
        apply=_apply_tensor_float_32,
        read=_read_tensor_float_32,
        module="tensorflow",
    ),
    _variable_control(
        "cudnn-autotune",
        "the choice of convolution algorithm on a GPU, made by timing them",
        "off",
        "TF_CUDNN_USE_AUTOTUNE",
        "0",
        "false",
    ),
    _variable_control(
        "cublas-workspace",
        "matrix products on a GPU that several streams share",
        ":4096:8",
        "CUBLAS_WORKSPACE_CONFIG",
        ":4096:8",
        ":16:8",
    ),
    Control(
        name="device",
        protects="where ops run: a CPU and a GPU give different bits",
        moment="before the first op",
        how="--pin=device=cpu, or start the program with CUDA_VISIBLE_DEVICES=-1",
        wanted=lambda request: request.device,
        apply=_apply_device,
        read=_read_device,
        module="tensorflow",
        at_launch=_device_variables,
    ),
)
