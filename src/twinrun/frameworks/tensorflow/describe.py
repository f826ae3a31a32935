"""TensorFlow in this process, for the environment record: versions, builds, devices, threads, flags, as read back.

Called only in a process that has imported TensorFlow itself. Reading starts nothing: devices that the program has not
asked for are left alone unless `initialise` is set."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Exported by TensorFlow 2.20 and 2.21; where one is missing, the field falls back to what the settings say.
_ONEDNN_ON = "_ZN10tensorflow12IsMKLEnabledEv"
_USABLE_CPUS = "_ZN3tsl4port14MaxParallelismEv"
# Files of the accelerator stack as mapped into the process; the full version is in the real file's name.
_LOADED = {
    "cudnn": re.compile(r"libcudnn\.so\.([\d.]+)"),
    "cublas": re.compile(r"libcublas\.so\.([\d.]+)"),
    "cuda_runtime": re.compile(r"libcudart\.so\.([\d.]+)"),
    "nccl": re.compile(r"libnccl\.so\.([\d.]+)"),
    "driver": re.compile(r"libcuda\.so\.([\d.]+)"),
}


def describe(*, initialise: bool = False) -> dict[str, object]:
    """Every field is read on its own: where one cannot be read, its value says so."""
    import tensorflow as tf

    fields: dict[str, Callable[[], object]] = {
        "name": lambda: "tensorflow",
        "version": lambda: tf.__version__,
        "build": lambda: f"{tf.version.GIT_VERSION}, {tf.version.COMPILER_VERSION}",
        "built_with": lambda: _built_with(tf),
        "loaded": loaded_libraries,
        "devices": lambda: _devices(tf, initialise),
        "intra_op_threads": lambda: _threads(tf, "intra"),
        "inter_op_threads": lambda: _threads(tf, "inter"),
        "op_determinism": _op_determinism,
        "onednn": _onednn,
        "xla_auto_jit": lambda: tf.config.optimizer.get_jit() or _auto_jit_flag(),
        "optimizer_options": lambda: _optimizer_options(tf),
        "tensor_float_32": lambda: bool(tf.config.experimental.tensor_float_32_execution_enabled()),
        "strategy": _strategy,
        "keras": _keras,
    }
    return {name: _guarded(read) for name, read in fields.items()}


def _guarded(read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception as problem:  # a description must never stop the program it describes
        return f"could not read: {type(problem).__name__}: {problem}"


def _built_with(tf: Any) -> dict[str, object]:
    info = tf.sysconfig.get_build_info()
    names = (
        "cuda_version", "cudnn_version", "is_cuda_build", "is_rocm_build", "is_tensorrt_build", "cpu_compiler",
    )  # fmt: skip
    return {name: info[name] for name in names if name in info}


def loaded_libraries(maps: Path = Path("/proc/self/maps")) -> dict[str, str]:
    """Versions of the CUDA libraries that this process has mapped, which may not be those of the build."""
    found: dict[str, str] = {}
    for line in maps.read_text().splitlines():
        path = line.rpartition(" ")[2]
        for name, pattern in _LOADED.items():
            match = pattern.search(path)
            if match and len(match[1]) > len(found.get(name, "")):
                found[name] = match[1].strip(".")
    return found


def _devices(tf: Any, initialise: bool) -> dict[str, object]:
    """The devices this process computes on. Asking TensorFlow for them too early would start the GPU driver."""
    from tensorflow.python.eager import context

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


def _threads(tf: Any, which: str) -> int:
    """The size of a thread pool: as set, else as the environment says, else TensorFlow's default here."""
    getter = getattr(tf.config.threading, f"get_{which}_op_parallelism_threads")
    set_to = int(getter())
    if set_to > 0:
        return set_to
    asked = os.environ.get(f"TF_NUM_{which.upper()}OP_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    usable = _call(_USABLE_CPUS, ctypes.c_int)
    if usable is not None:
        return int(usable)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _op_determinism() -> bool:
    from tensorflow.python.framework import config

    return bool(config.is_op_determinism_enabled())


def _onednn() -> bool | str:
    """Whether TensorFlow uses oneDNN kernels. The default depends on the CPU, so TensorFlow is asked."""
    answer = _call(_ONEDNN_ON, ctypes.c_bool)
    if answer is not None:
        return bool(answer)
    asked = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    return "left to TensorFlow" if asked is None else asked.lower() in ("1", "true")


def _optimizer_options(tf: Any) -> dict[str, object]:
    """Those that differ from the default: TensorFlow reports `disable_…` as False where it was never set."""
    options = tf.config.optimizer.get_experimental_options()
    return {name: value for name, value in options.items() if value or not name.startswith("disable")}


def _auto_jit_flag() -> str:
    found = re.search(r"--tf_xla_auto_jit=(\S+)", os.environ.get("TF_XLA_FLAGS", ""))
    return found[1] if found else ""


def _strategy() -> dict[str, object]:
    """The distribution strategy that the program made, from TensorFlow's own gauge, and the workers of its cluster."""
    import tensorflow as tf
    from tensorflow.python.distribute import distribute_lib

    gauge = distribute_lib.distribution_strategy_gauge
    made = gauge.get_cell("V2").value() or gauge.get_cell("V1").value()
    described: dict[str, object] = {"name": made or "none", "workers": _workers()}
    replicas = tf.distribute.get_strategy().num_replicas_in_sync if tf.distribute.has_strategy() else None
    if replicas is not None:
        described["replicas"] = int(replicas)
    return described


def _workers() -> int:
    """How many workers TF_CONFIG names. The addresses in it are private and not kept."""
    import json

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
        described["keras"] = keras.__version__
        described["backend"] = keras.backend.backend()
        described["floatx"] = keras.backend.floatx()
        described["image_data_format"] = keras.backend.image_data_format()
        described["policy"] = str(getattr(keras.config.dtype_policy(), "name", "unknown"))
    legacy = sys.modules.get("tf_keras")
    if legacy is not None and hasattr(legacy, "__version__"):
        described["tf_keras"] = legacy.__version__
    return described


def _call(symbol: str, result: Any) -> Any:
    """Call an exported function without arguments in TensorFlow's own library, which is loaded already."""
    import tensorflow as tf

    try:
        library = ctypes.CDLL(
            str(Path(tf.__file__).parent / "libtensorflow_framework.so.2"), mode=os.RTLD_NOLOAD | os.RTLD_LAZY
        )
        function = getattr(library, symbol)
    except (OSError, AttributeError):
        return None
    function.restype = result
    function.argtypes = ()
    return function()


def load() -> None:
    """Import the installed TensorFlow and Keras, to describe a machine rather than a program."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401
