"""TensorFlow's controls: applied right after TensorFlow is imported, and read back from TensorFlow itself.

Nothing here starts TensorFlow's runtime: the program may still choose devices and threads after us."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import config
from tensorflow.python.util import _pywrap_util_port as build

from twinrun.frameworks.tensorflow import gpu_controls, pinning
from twinrun.frameworks.tensorflow.runtime import is_started
from twinrun.protocol import seeds
from twinrun.protocol.control import Actions, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.sources import settings, streams
from twinrun.sources.interpreter import by
from twinrun.twin.pins import Seeding, current


def watch() -> None:
    """See who sets TensorFlow's seed, without changing what it does."""
    pinning.watch_set_seed()


# The global seed


def apply_seed(request: PinRequest) -> Undo:
    active = context.context()
    before, stream = active._seed, getattr(active, "_rng", None)
    wanted = seeds.tensorflow_seed(request.seed)
    with current().acting():
        tf.random.set_seed(wanted)
    current().seedings["tensorflow-seed"] = Seeding(wanted, "twinrun")
    pinning.seed_what_asks_for_no_seed()

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
    wanted: Callable[[PinRequest], int], variable: str, set_: Callable[[int], None]
) -> Callable[[PinRequest], Undo]:
    def apply(request: PinRequest) -> Undo:
        # Where a launch varies the threads between twins, it says so by the variable.
        launched_with = _number(variable) if current().launched else None
        try:
            set_(launched_with or wanted(request))
        except RuntimeError:
            raise NotApplied("TensorFlow has already started; pin before the first op") from None
        return lambda: "TensorFlow cannot change its threads once it has started" if is_started() else set_(0)

    return apply


def _read_threads(
    control: str, variable: str, get: Callable[[], int]
) -> Callable[[PinRequest | None], Reading]:
    def read(request: PinRequest | None) -> Reading:
        configured, written = get(), _number(variable)
        if configured and configured == current().applied.get(control):
            return Reading(configured, "twinrun", True)
        if configured and configured != written:
            return Reading(configured, "program", True)
        if written:
            return Reading(written, "environment", True)
        why = "as many as this process may use processors: another machine computes other bits"
        return Reading(settings.available_cpus(), "default", False, why)

    return read


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) else None


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
        _apply_threads(
            settings.intra_op_threads, "TF_NUM_INTRAOP_THREADS", _threading.set_intra_op_parallelism_threads
        ),
    ),
    "inter-op-threads": Actions(
        _read_threads(
            "inter-op-threads", "TF_NUM_INTEROP_THREADS", _threading.get_inter_op_parallelism_threads
        ),
        _apply_threads(
            settings.inter_op_threads, "TF_NUM_INTEROP_THREADS", _threading.set_inter_op_parallelism_threads
        ),
    ),
    "onednn": Actions(read_onednn, apply_onednn),
    "xla": Actions(read_xla, apply_xla),
    **gpu_controls.ACTIONS,
}
