"""Environment variables, by allow-list only: a variable that is not named here is never read."""

from __future__ import annotations

from collections.abc import Mapping

# Variables that can change how numbers are computed.
NUMERIC = (
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_DISABLE_MKL",
    "TF_SET_ONEDNN_FPMATH_MODE",
    "TF_ONEDNN_THREADPOOL_USE_CALLER_THREAD",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "TF_XLA_FLAGS",
    "XLA_FLAGS",
    "TF_DETERMINISTIC_OPS",
    "TF_CUDNN_DETERMINISTIC",
    "TF_CUDNN_USE_AUTOTUNE",
    "TF_CUDNN_USE_FRONTEND",
    "TF_ENABLE_CUBLAS_TENSOR_OP_MATH_FP32",
    "TF_DISABLE_RZ_CHECK",
    "TF_GPU_ALLOCATOR",
    "TF_USE_LEGACY_KERAS",
    "KERAS_BACKEND",
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_VISIBLE_DEVICES",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "OPENBLAS_CORETYPE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
)
# Variables that set thread counts.
THREADS = (
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
)
# Variables that change what the program does rather than how numbers are computed.
PROCESS = ("PYTHONHASHSEED", "PYTHONOPTIMIZE", "LANG", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_COLLATE", "TZ")

ALLOWED = (*NUMERIC, *THREADS, *PROCESS)


def read_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The allowed variables that are set."""
    return {name: environment[name] for name in ALLOWED if name in environment}
