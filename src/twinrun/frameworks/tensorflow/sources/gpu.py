"""The controls that matter on a GPU, and the choice of device itself. Where there is no GPU they do nothing, and their
reading says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from twinrun.frameworks.tensorflow.runtime import before_first_op, is_applied, is_started, switch, tf
from twinrun.protocol.control import Control, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.twin.session import current


def _gpus() -> list[Any]:
    return list(tf.config.get_visible_devices("GPU"))


def _tensor_float_32() -> bool:
    return bool(tf.config.experimental.tensor_float_32_execution_enabled())


def _set_tensor_float_32(on: bool) -> None:
    tf.config.experimental.enable_tensor_float_32_execution(on)


def _read_tensor_float_32(request: PinRequest | None) -> Reading:
    applied = is_applied("tensor-float-32")
    if not _tensor_float_32():
        return Reading("off", "twinrun" if applied else "program", True)
    set_by: SetBy = "program" if applied else "default"
    if not _gpus():
        return Reading("on (no GPU here)", set_by, True, idle=True)
    return Reading("on", set_by, False, "float32 products are rounded to 10 bits on this GPU")


def _variable_control(name: str, protects: str, state: str, variable: str, good: tuple[str, ...]) -> Control:
    """A control that is one variable, which the libraries below TensorFlow read when the GPU is first used. The first
    of its good values is set."""
    value = good[0]

    def apply(request: PinRequest) -> Undo:
        if os.environ.get(variable) != value and is_started() and _gpus():
            raise NotApplied("TensorFlow has already started its GPUs; pin before the first op")
        return current().pins.set_variables({variable: value})

    def read(request: PinRequest | None) -> Reading:
        written = os.environ.get(variable)
        ours = written is not None and current().pins.environment.get(variable) == written
        set_by: SetBy = "twinrun" if ours else "default" if written is None else "environment"
        shown = "unset" if written is None else written
        if not _gpus():
            return Reading(f"{shown} (no GPU here)", set_by, True, idle=True)
        why = None if written in good else f"{variable} is not set as it should be"
        return Reading(shown, set_by, why is None, why)

    return before_first_op(
        name,
        protects,
        f"start the program with {variable}={value}",
        wanted=lambda request: state,
        apply=apply,
        read=read,
        at_launch=lambda request: {variable: value},
    )


def _device_variables(request: PinRequest) -> Mapping[str, str]:
    if request.device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "-1"}
    if request.device and request.device.startswith("gpu:"):
        return {"CUDA_VISIBLE_DEVICES": request.device.removeprefix("gpu:")}
    return {}


def _apply_device(request: PinRequest) -> Undo:
    before = tf.config.get_visible_devices()
    try:
        if request.device == "cpu":
            tf.config.set_visible_devices([], "GPU")
    except RuntimeError:
        raise NotApplied("TensorFlow has already started with its GPUs; pin before the first op") from None
    kept = "TensorFlow cannot change its devices once it has started"
    return lambda: kept if is_started() else tf.config.set_visible_devices(before)


def _read_device(request: PinRequest | None) -> Reading:
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
    before_first_op(
        "tensor-float-32",
        "float32 products on newer NVIDIA GPUs, which TensorFloat-32 rounds to 10 bits",
        "tf.config.experimental.enable_tensor_float_32_execution(False)",
        wanted=lambda request: "off",
        apply=switch(_tensor_float_32, _set_tensor_float_32, False),
        read=_read_tensor_float_32,
    ),
    _variable_control(
        "cudnn-autotune",
        "the choice of convolution algorithm on a GPU, made by timing them",
        "off",
        "TF_CUDNN_USE_AUTOTUNE",
        ("0", "false"),
    ),
    _variable_control(
        "cublas-workspace",
        "matrix products on a GPU that several streams share",
        ":4096:8",
        "CUBLAS_WORKSPACE_CONFIG",
        (":4096:8", ":16:8"),
    ),
    before_first_op(
        "device",
        "where ops run: a CPU and a GPU give different bits",
        "--pin=device=cpu, or start the program with CUDA_VISIBLE_DEVICES=-1",
        wanted=lambda request: request.device,
        apply=_apply_device,
        read=_read_device,
        at_launch=_device_variables,
    ),
)
