"""What a request asks of each control, and the variables a process must be started with to get it.
Framework-free: the parent calls this."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from twinrun.protocol import seeds
from twinrun.protocol.pin import PinRequest

# Variables that give libraries below TensorFlow their number of threads.
_OPENMP = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def available_cpus() -> int:
    """As many as TensorFlow itself would use: those this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


# An explicit request beats the variables that happen to be set, except for thread counts that nobody asked
# for: those are somebody's decision about this machine, and are kept and made explicit.


def hash_seed(request: PinRequest) -> int:
    return seeds.hash_seed(request.seed)


def hash_variables(request: PinRequest) -> Mapping[str, str]:
    return {"PYTHONHASHSEED": str(hash_seed(request))}


def python_seed(request: PinRequest) -> dict[str, Any]:
    return {"seed": seeds.python_seed(request.seed)}


def numpy_seed(request: PinRequest) -> dict[str, Any]:
    return {"seed": seeds.numpy_seed(request.seed)}


def openmp_threads(request: PinRequest) -> int:
    return request.threads or _number("OMP_NUM_THREADS") or available_cpus()


def openmp_variables(request: PinRequest) -> Mapping[str, str]:
    count = openmp_threads(request)
    fixed = {name: str(request.threads or _number(name) or count) for name in _OPENMP}
    return {**fixed, "OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}


def tensorflow_seed(request: PinRequest) -> dict[str, Any]:
    return {"seed": seeds.tensorflow_seed(request.seed)}


def tensorflow_generator_seed(request: PinRequest) -> dict[str, Any]:
    return {"seed": seeds.tensorflow_generator_seed(request.seed)}


def switched_on(request: PinRequest) -> str:
    return "on"


def tf_data_order(request: PinRequest) -> str:
    return "deterministic"


def intra_op_threads(request: PinRequest) -> int:
    return request.threads or _number("TF_NUM_INTRAOP_THREADS") or available_cpus()


def intra_op_variables(request: PinRequest) -> Mapping[str, str]:
    return {"TF_NUM_INTRAOP_THREADS": str(intra_op_threads(request))}


def inter_op_threads(request: PinRequest) -> int:
    return request.threads or _number("TF_NUM_INTEROP_THREADS") or available_cpus()


def inter_op_variables(request: PinRequest) -> Mapping[str, str]:
    return {"TF_NUM_INTEROP_THREADS": str(inter_op_threads(request))}


def onednn(request: PinRequest) -> str:
    """Kept on unless the environment says off: on is the default where the processor suits it, and the faster
    one."""
    return "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "on"


def onednn_variables(request: PinRequest) -> Mapping[str, str]:
    return {"TF_ENABLE_ONEDNN_OPTS": "0" if onednn(request) == "off" else "1"}


def xla(request: PinRequest) -> str:
    return "no auto-clustering"


def xla_variables(request: PinRequest) -> Mapping[str, str]:
    """TF_XLA_FLAGS less the one that switches auto-clustering on; XLA_FLAGS stay as they are, and are
    shown."""
    flags = os.environ.get("TF_XLA_FLAGS")
    if not flags:
        return {}
    return {
        "TF_XLA_FLAGS": " ".join(flag for flag in flags.split() if not flag.startswith("--tf_xla_auto_jit"))
    }


def tensor_float_32(request: PinRequest) -> str:
    return "off"


def cudnn_autotune(request: PinRequest) -> str:
    return "off"


def cudnn_variables(request: PinRequest) -> Mapping[str, str]:
    return {"TF_CUDNN_USE_AUTOTUNE": "0"}


def cublas_workspace(request: PinRequest) -> str:
    return ":4096:8"


def cublas_variables(request: PinRequest) -> Mapping[str, str]:
    return {"CUBLAS_WORKSPACE_CONFIG": cublas_workspace(request)}


def device(request: PinRequest) -> str | None:
    return request.device


def device_variables(request: PinRequest) -> Mapping[str, str]:
    if request.device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "-1"}
    if request.device and request.device.startswith("gpu:"):
        return {"CUDA_VISIBLE_DEVICES": request.device.removeprefix("gpu:")}
    return {}


def keras_seed(request: PinRequest) -> dict[str, Any]:
    return {"seed": request.seed, "derived": "by layer"}
