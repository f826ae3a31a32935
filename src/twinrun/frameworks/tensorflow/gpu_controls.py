"""The controls that matter on a GPU, and the choice of device itself. Where there is no GPU they are
harmless, and their reading says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from twinrun.frameworks.tensorflow.runtime import is_started
from twinrun.protocol.control import Actions, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.sources import settings
from twinrun.twin.pins import current


def apply_tensor_float_32(request: PinRequest) -> Undo:
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)

    def undo() -> None:
        tf.config.experimental.enable_tensor_float_32_execution(before)

    return undo


def read_tensor_float_32(request: PinRequest | None) -> Reading:
    on = bool(tf.config.experimental.tensor_float_32_execution_enabled())
    applied = "tensor-float-32" in current().applied
    if not on:
        return Reading("off", "twinrun" if applied else "program", True)
    set_by: SetBy = "program" if applied else "default"
    if not gpus():
        return Reading("on (no GPU here)", set_by, True)
    return Reading("on", set_by, False, "float32 products are rounded to 10 bits on this GPU")


def _apply_gpu_variables(
    variables: Callable[[PinRequest], Mapping[str, str]],
) -> Callable[[PinRequest], Undo]:
    """The libraries below read these when the GPU is first used."""

    def apply(request: PinRequest) -> Undo:
        wanted = variables(request)
        if any(os.environ.get(name) != value for name, value in wanted.items()) and is_started() and gpus():
            raise NotApplied("TensorFlow has already started its GPUs; pin before the first op")
        return current().set_variables(wanted)

    return apply


def _read_gpu_variable(variable: str, good: tuple[str, ...]) -> Callable[[PinRequest | None], Reading]:
    def read(request: PinRequest | None) -> Reading:
        written = os.environ.get(variable)
        ours = written is not None and current().environment.get(variable) == written
        set_by: SetBy = "twinrun" if ours else "default" if written is None else "environment"
        if not gpus():
            return Reading(f"{'unset' if written is None else written} (no GPU here)", set_by, True)
        if written in good:
            return Reading(written, set_by, True)
        return Reading(written or "unset", set_by, False, f"{variable} is not set as it should be")

    return read


def gpus() -> list[Any]:
    return list(tf.config.get_visible_devices("GPU"))


def apply_device(request: PinRequest) -> Undo:
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


def read_device(request: PinRequest | None) -> Reading:
    state = [device.name.removeprefix("/physical_device:") for device in tf.config.get_visible_devices()]
    wanted = request.device if request is not None and request.wants("device") else None
    if wanted is None:
        return Reading(state, "default", True)
    if wanted == "cpu" and gpus():
        return Reading(state, "program", False, "a GPU is visible")
    if wanted.startswith("gpu") and not gpus():
        return Reading(state, "default", False, "no GPU is visible")
    return Reading(state, "twinrun", True)


ACTIONS: dict[str, Actions] = {
    "tensor-float-32": Actions(read_tensor_float_32, apply_tensor_float_32),
    "cudnn-autotune": Actions(
        _read_gpu_variable("TF_CUDNN_USE_AUTOTUNE", ("0", "false")),
        _apply_gpu_variables(settings.cudnn_variables),
    ),
    "cublas-workspace": Actions(
        _read_gpu_variable("CUBLAS_WORKSPACE_CONFIG", (":4096:8", ":16:8")),
        _apply_gpu_variables(settings.cublas_variables),
    ),
    "device": Actions(read_device, apply_device),
}
