"""TensorFlow's controls: applied right after TensorFlow is imported, and read back from TensorFlow itself.

Nothing here starts TensorFlow's runtime: the program may still choose devices and threads after us."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import config
from tensorflow.python.util import _pywrap_util_port as build

from twinrun.adapters.tensorflow import pinning
from twinrun.controls import seeds, settings, streams
from twinrun.controls.control import Actions, NotApplied, Reading, SetBy, Undo
from twinrun.controls.interpreter import by
from twinrun.controls.request import PinRequest
from twinrun.controls.session import Seeding, current


def watch() -> None:
    """See who sets TensorFlow's seed, without changing what it does."""
    pinning.watch_set_seed()


def is_started() -> bool:
    """Has TensorFlow's runtime been started (by a first op, or by asking for its devices)?"""
    return getattr(context.context(), "_context_handle", None) is not None


# The global seed


def apply_seed(request: PinRequest) -> Undo:
    active = context.context()
    before, stream = active._seed, getattr(active, "_rng", None)
    wanted = seeds.tensorflow_seed(request.seed)
    with current().acting():
        tf.random.set_seed(wanted)
    current().seedings["tensorflow-seed"] = Seeding(wanted, "twinrun")
    pinning.separate_data_seeds()
    pinning.seed_augmentation_ops()

    def undo() -> str | None:
        with current().acting():
            tf.random.set_seed(before)
        if stream is not None:
            active._rng = stream
        current().seedings.pop("tensorflow-seed", None)
        return None

    return undo


def read_seed(request: PinRequest | None) -> Reading:
    found = context.global_seed()
    seeding = current().seedings.get("tensorflow-seed")
    if found is None:
        if seeding is not None and seeding.by == "program":
            return Reading("not set", "program", False, "the program took the seed away", seeding.place)
        return Reading("not set", "default", False, "ops without a seed of their own draw from fresh entropy")
    known = seeding is not None and seeding.value == found
    set_by: SetBy = by(seeding) if seeding is not None and known else "program"
    drawn = streams.python_position(found, context.context()._rng.getstate())
    if drawn is None:
        why = f"the stream of op seeds is not the one that seed {found} gives"
        return Reading({"seed": found, "drawn": "replaced"}, "program", False, why)
    place = seeding.place if seeding is not None and known else None
    return Reading({"seed": found, "drawn": drawn}, set_by, True, None, place)


# The global generator


def apply_generator(request: PinRequest) -> Undo:
    return pinning.seed_global_generator()


def read_generator(request: PinRequest | None) -> Reading:
    generator = pinning.global_generator()
    pinned = "tensorflow-generator" in current().applied
    if generator is None:
        if pinned:
            return Reading("not used yet; seeded when it is", "twinrun", True)
        return Reading("not used", "default", True)
    # The last word of the state is its key: draws move the counter before it, only reseeding moves the key.
    *counter, key = (int(word) for word in generator.state.numpy())
    state = {"key": key, "counter": counter}
    seeding = current().seedings.get("tensorflow-generator")
    if seeding is not None and seeding.by == "program":
        return Reading(state, "program", True, None, seeding.place)
    if pinned and key == current().applied["tensorflow-generator"]["seed"]:
        return Reading(state, "twinrun", True)
    if pinned:
        return Reading(
            state, "program", False, "the generator was replaced or reset, and nothing saw with what"
        )
    return Reading(state, "default", False, "it was seeded from fresh entropy when it was first used")


# Op determinism


def apply_op_determinism(request: PinRequest) -> Undo:
    was_on = config.is_op_determinism_enabled()
    config.enable_op_determinism()
    if is_started():
        context.context().clear_kernel_cache()  # kernels made before decided without it
    pinning.let_fresh_entropy_through()

    def undo() -> str | None:
        if not was_on:
            config.disable_op_determinism()
            if is_started():
                context.context().clear_kernel_cache()
        return None

    return undo


def read_op_determinism(request: PinRequest | None) -> Reading:
    on = bool(config.is_op_determinism_enabled())
    applied = "op-determinism" in current().applied
    if on:
        in_environment = os.environ.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
        return Reading("on", "twinrun" if applied else "environment" if in_environment else "program", True)
    if applied:
        return Reading("off", "program", False, "the program switched it off")
    return Reading("off", "default", False, "ops may race: the same inputs may give different bits")


# The order of tf.data


def apply_data_order(request: PinRequest) -> Undo:
    return pinning.keep_data_order()


def read_data_order(request: PinRequest | None) -> Reading:
    overridden = sorted(set(current().overridden))
    determinism = bool(config.is_op_determinism_enabled())
    kept = pinning.data_order_is_kept()
    state: dict[str, Any] = {"deterministic": kept or determinism, "overridden": overridden}
    if kept:
        return Reading(state, "twinrun", True)
    if determinism:
        return Reading(state, "program", True)
    return Reading(state, "default", False, "deterministic=False is obeyed wherever the program says it")


# Threads


def _apply_threads(
    wanted: Callable[[PinRequest], int], set_: Callable[[int], None]
) -> Callable[[PinRequest], Undo]:
    def apply(request: PinRequest) -> Undo:
        try:
            set_(wanted(request))
        except RuntimeError:
            raise NotApplied("TensorFlow has already started; pin before the first op") from None
        return lambda: "TensorFlow cannot change its threads once it has started" if is_started() else set_(0)

    return apply


def _read_threads(
    control: str, variable: str, get: Callable[[], int]
) -> Callable[[PinRequest | None], Reading]:
    def read(request: PinRequest | None) -> Reading:
        configured = get()
        if configured:
            ours = current().applied.get(control) == configured
            return Reading(configured, "twinrun" if ours else "program", True)
        written = os.environ.get(variable, "")
        if written.isdigit() and int(written) > 0:
            ours = current().environment.get(variable) == written
            return Reading(int(written), "twinrun" if ours else "environment", True)
        why = "as many as this process may use processors: another machine computes other bits"
        return Reading(settings.available_cpus(), "default", False, why)

    return read


# oneDNN and XLA


def apply_onednn(request: PinRequest) -> None:
    wanted = settings.onednn(request)
    if ("on" if build.IsMklEnabled() else "off") != wanted and build.IsX86Available():
        raise NotApplied(
            f"TensorFlow was imported with oneDNN {'off' if wanted == 'on' else 'on'}; pin before that"
        )


def read_onednn(request: PinRequest | None) -> Reading:
    effective = "on" if build.IsMklEnabled() else "off"
    written = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    if written is None and current().applied.get("onednn") == effective:  # as asked for, as it happens
        return Reading(effective, "default", True)
    if written is None:
        return Reading(
            effective, "default", False, "the processor model decides: other machines may decide otherwise"
        )
    ours = current().environment.get("TF_ENABLE_ONEDNN_OPTS") == written
    if ("off" if written == "0" else "on") != effective and build.IsX86Available():
        return Reading(
            effective, "default", False, "the variable was changed after TensorFlow had been imported"
        )
    return Reading(effective, "twinrun" if ours else "environment", True)


def apply_xla(request: PinRequest) -> Undo:
    before = context.context()._optimizer_jit
    tf.config.optimizer.set_jit(False)

    def undo() -> None:
        context.context().optimizer_jit = before

    return undo


def read_xla(request: PinRequest | None) -> Reading:
    clustering = bool(tf.config.optimizer.get_jit())
    flags = {name: os.environ[name] for name in ("XLA_FLAGS", "TF_XLA_FLAGS") if os.environ.get(name)}
    state = {"auto_clustering": clustering, **flags}
    asked_by_flag = "--tf_xla_auto_jit" in flags.get("TF_XLA_FLAGS", "")
    if asked_by_flag or clustering:
        why = "XLA chooses what to compile, and compiled code gives other bits"
        return Reading(state, "environment" if asked_by_flag else "program", False, why)
    return Reading(
        state, "twinrun" if "xla" in current().applied else "environment" if flags else "default", True
    )


# The GPU


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


_threading = tf.config.threading
ACTIONS: dict[str, Actions] = {
    "tensorflow-seed": Actions(read_seed, apply_seed),
    "tensorflow-generator": Actions(read_generator, apply_generator),
    "op-determinism": Actions(read_op_determinism, apply_op_determinism),
    "tf-data-order": Actions(read_data_order, apply_data_order),
    "intra-op-threads": Actions(
        _read_threads(
            "intra-op-threads", "TF_NUM_INTRAOP_THREADS", _threading.get_intra_op_parallelism_threads
        ),
        _apply_threads(settings.intra_op_threads, _threading.set_intra_op_parallelism_threads),
    ),
    "inter-op-threads": Actions(
        _read_threads(
            "inter-op-threads", "TF_NUM_INTEROP_THREADS", _threading.get_inter_op_parallelism_threads
        ),
        _apply_threads(settings.inter_op_threads, _threading.set_inter_op_parallelism_threads),
    ),
    "onednn": Actions(read_onednn, apply_onednn),
    "xla": Actions(read_xla, apply_xla),
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
