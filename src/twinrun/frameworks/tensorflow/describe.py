"""TensorFlow in this process, for the environment record: versions, builds, devices, threads, flags, as read back.

Called only in a process that has imported TensorFlow itself. Reading starts nothing: devices that the program has not
asked for are left alone unless `initialise` is set."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from twinrun.environment.environment import UNREAD
from twinrun.frameworks.lazy import Lazy
from twinrun.frameworks.tensorflow.runtime import build, config, context, tf
from twinrun.sources.ops import available_cpus, thread_variable

_BUILD = (
    "cuda_version", "cudnn_version", "is_cuda_build", "is_rocm_build", "is_tensorrt_build", "cpu_compiler"
)  # fmt: skip
_distribute_lib = Lazy("tensorflow.python.distribute.distribute_lib")
# Files of the accelerator stack as mapped into the process; the full version is in the real file's name.
_LOADED = {
    "libcudnn": "cudnn",
    "libcublas": "cublas",
    "libcudart": "cuda_runtime",
    "libnccl": "nccl",
    "libcuda": "driver",
}


def describe(*, initialise: bool = False) -> dict[str, object]:
    """Every field is read on its own: where one cannot be read, its value says so."""
    fields: dict[str, Callable[[], object]] = {
        "name": lambda: "tensorflow",
        "version": lambda: tf.__version__,
        "build": lambda: f"{tf.version.GIT_VERSION}, {tf.version.COMPILER_VERSION}",
        "built_with": _built_with,
        "loaded": loaded_libraries,
        "devices": lambda: _devices(initialise),
        "intra_op_threads": lambda: _threads("intra"),
        "inter_op_threads": lambda: _threads("inter"),
        "op_determinism": lambda: bool(config.is_op_determinism_enabled()),
        "onednn": lambda: bool(build.IsMklEnabled()),  # by default, the CPU decides
        "xla_auto_jit": lambda: tf.config.optimizer.get_jit() or _auto_jit_flag(),
        "optimizer_options": _optimizer_options,
        "tensor_float_32": lambda: bool(tf.config.experimental.tensor_float_32_execution_enabled()),
        "strategy": _strategy,
        "keras": _keras,
    }
    return {name: _guarded(read) for name, read in fields.items()}


def _guarded(read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception as problem:  # a description must never stop the program it describes
        return f"{UNREAD}{type(problem).__name__}: {problem}"


def _built_with() -> dict[str, object]:
    info = tf.sysconfig.get_build_info()
    return {name: info[name] for name in _BUILD if name in info}


def loaded_libraries(maps: Path = Path("/proc/self/maps")) -> dict[str, str]:
    """Versions of the CUDA libraries that this process has mapped, which may not be those of the build."""
    found: dict[str, str] = {}
    for library, version in re.findall(r"/(lib\w+)\.so\.([\d.]+)", maps.read_text()):
        name = _LOADED.get(library)
        if name and len(version) > len(found.get(name, "")):
            found[name] = version.strip(".")
    return found


def _devices(initialise: bool) -> dict[str, object]:
    """The devices this process computes on. Asking TensorFlow for them too early would start the GPU driver."""
    state = context.context()
    if not (initialise or getattr(state, "_initialized", True) or getattr(state, "_physical_devices", None)):
        return {"kind": "cpu", "note": "the program had not asked for devices"}
    gpus = tf.config.get_visible_devices("GPU")
    if not gpus:
        return {"kind": "cpu", "count": len(tf.config.get_visible_devices("CPU"))}
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    models = [str(each.get("device_name", "unknown GPU")) for each in details]
    capability = sorted({".".join(map(str, each.get("compute_capability", ()))) for each in details})
    return {"kind": "gpu", "count": len(gpus), "models": models, "compute_capability": ",".join(capability)}


def _threads(which: str) -> int:
    """The size of a thread pool: as set, else as the environment says, else TensorFlow's default here."""
    configured = int(getattr(tf.config.threading, f"get_{which}_op_parallelism_threads")())
    return configured or thread_variable(f"TF_NUM_{which.upper()}OP_THREADS") or available_cpus()


def _optimizer_options() -> dict[str, object]:
    """The options that differ from the default: TensorFlow reports `disable_…` as False where it was never set."""
    options = tf.config.optimizer.get_experimental_options()
    return {name: value for name, value in options.items() if value or not name.startswith("disable")}


def _auto_jit_flag() -> str:
    found = re.search(r"--tf_xla_auto_jit=(\S+)", os.environ.get("TF_XLA_FLAGS", ""))
    return found[1] if found else ""


def _strategy() -> dict[str, object]:
    """The distribution strategy that the program made, from TensorFlow's own gauge, and the workers of its cluster."""
    gauge = _distribute_lib.distribution_strategy_gauge
    made = gauge.get_cell("V2").value() or gauge.get_cell("V1").value()
    described: dict[str, object] = {"name": made or "none", "workers": _workers()}
    if made and (devices := _logical_cpus()) > 1:
        described["devices"] = devices
    if tf.distribute.has_strategy():
        described["replicas"] = int(tf.distribute.get_strategy().num_replicas_in_sync)
    return described


def _logical_cpus() -> int:
    """Into how many devices the processor is split."""
    if not getattr(context.context(), "_initialized", True):
        return 1
    return len(tf.config.list_logical_devices("CPU"))


def _workers() -> int:
    """How many workers TF_CONFIG names. The addresses in it are private and not kept."""
    try:
        cluster = json.loads(os.environ.get("TF_CONFIG", "") or "{}").get("cluster", {})
        return max(1, sum(len(cluster.get(role, ())) for role in ("chief", "worker")))
    except (ValueError, AttributeError, TypeError):
        return 1


def _keras() -> dict[str, object]:
    """The Keras that the program uses; TensorFlow imports it by itself, which does not count."""
    described: dict[str, object] = {}
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "backend"):
        described = {
            "keras": keras.__version__,
            "backend": keras.backend.backend(),
            "floatx": keras.backend.floatx(),
            "image_data_format": keras.backend.image_data_format(),
            "policy": str(getattr(keras.config.dtype_policy(), "name", "unknown")),
        }
    legacy = sys.modules.get("tf_keras")
    if legacy is not None and hasattr(legacy, "__version__"):
        described["tf_keras"] = legacy.__version__
    return described


def load() -> None:
    """Import the installed TensorFlow and Keras, to describe a machine rather than a program."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401
