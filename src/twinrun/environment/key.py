"""Chooses the key's facts. Which ones, and why, was measured: benchmarks/environment_key.py,
docs/explanation/environment-key.md."""

from __future__ import annotations

from typing import Any

from twinrun.counted import counted
from twinrun.environment.environment import EnvironmentKey, is_unread

Facts = dict[str, dict[str, Any]]

# Variables that were measured to change bits by themselves, beyond what is read back anyway.
_CPU_SETTINGS = ("TF_XLA_FLAGS", "XLA_FLAGS", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
# Variables that choose other kernels on a GPU.
_GPU_SETTINGS = (
    "NVIDIA_TF32_OVERRIDE",
    "TF_CUDNN_USE_AUTOTUNE",
    "TF_CUDNN_USE_FRONTEND",
    "CUBLAS_WORKSPACE_CONFIG",
    "TF_ENABLE_CUBLAS_TENSOR_OP_MATH_FP32",
    "NCCL_ALGO",
    "NCCL_PROTO",
)
# Instruction sets that gave the same bits, in float32 and in bfloat16, as the weaker one they extend.
_SAME_BITS = {"avx512_vnni": "avx512", "avx512_bf16": "avx512"}


def key_of(facts: Facts) -> EnvironmentKey:
    """The key of these facts. One that could not be read is in the key as `unread`, which matches nothing."""
    framework, cpu = facts.get("framework", {}), facts.get("cpu", {})
    loaded = _mapping(facts.get("packages", {}).get("loaded"))
    devices = _mapping(framework.get("devices"))
    on_gpu = devices.get("kind") == "gpu"
    key: dict[str, Any] = {
        "framework": _framework(framework),
        "build": framework.get("build"),
        "keras": _keras(framework),
        "numpy": _major(loaded.get("numpy")),
        "machine": facts.get("platform", {}).get("machine"),
        "libc": facts.get("platform", {}).get("libc"),
        "device": _device(devices) if on_gpu else "cpu",
        "vector": _SAME_BITS.get(str(cpu.get("vector_in_effect")), cpu.get("vector_in_effect")),
        "intra_op_threads": framework.get("intra_op_threads", cpu.get("usable")),
        "op_determinism": framework.get("op_determinism"),
        "onednn": framework.get("onednn"),
        "xla_auto_jit": framework.get("xla_auto_jit") or None,
        "optimizer_options": framework.get("optimizer_options") or None,
        "strategy": _strategy(framework.get("strategy")),
        "settings": _settings(facts.get("variables", {}), on_gpu) or None,
    }
    if on_gpu:
        key["accelerator"] = _accelerator(framework, facts.get("gpu", {}))
        key["tensor_float_32"] = framework.get("tensor_float_32")
    known = {name: value for name, value in key.items() if value is not None}
    return EnvironmentKey({name: "unread" if is_unread(value) else value for name, value in known.items()})


def _mapping(value: Any) -> dict[str, Any]:
    """A group of fields, or nothing where it could not be read."""
    return value if isinstance(value, dict) else {}


def _framework(framework: dict[str, Any]) -> str:
    name = framework.get("name")
    return f"{name} {framework.get('version', 'unknown')}" if name else "none"


def _keras(framework: dict[str, Any]) -> str | None:
    """`keras 3 on tensorflow`: other minor versions gave the same bits, so they are evidence, not key."""
    keras = framework.get("keras")
    if not isinstance(keras, dict):
        return None
    parts = []
    if "keras" in keras:
        parts.append(f"keras {_major(keras['keras'])} on {keras.get('backend', 'unknown')}")
    if "tf_keras" in keras:
        parts.append(f"tf_keras {_major(keras['tf_keras'])}")
    return ", ".join(parts) or None


def _major(version: Any) -> str | None:
    return None if version is None else str(version).partition(".")[0]


def _device(devices: dict[str, Any]) -> str:
    models = sorted(str(model) for model in devices.get("models", ()))
    return " + ".join(f"{model} x {models.count(model)}" for model in dict.fromkeys(models)) or "gpu"


def _accelerator(framework: dict[str, Any], gpu: dict[str, Any]) -> dict[str, Any]:
    """As loaded where that is known, else as built: it is the loaded library that computes."""
    loaded, built = _mapping(framework.get("loaded")), _mapping(framework.get("built_with"))
    return {
        "cuda": loaded.get("cublas") or loaded.get("cuda_runtime") or built.get("cuda_version"),
        "cudnn": loaded.get("cudnn") or built.get("cudnn_version"),
        "driver": gpu.get("driver") or loaded.get("driver"),
    }


def _strategy(strategy: Any) -> str | None:
    """None for a single process on one device."""
    if not isinstance(strategy, dict):
        return None
    workers = strategy.get("workers", 1)
    if strategy.get("name") in (None, "none") and workers == 1:
        return None
    devices = strategy.get("devices", 1)  # that the processor is split into
    split = f", {counted(devices, 'device')}" if devices != 1 else ""
    return f"{strategy.get('name')}, {counted(workers, 'worker')}{split}"


def _settings(variables: dict[str, Any], on_gpu: bool) -> dict[str, str]:
    names = (*_CPU_SETTINGS, *_GPU_SETTINGS) if on_gpu else _CPU_SETTINGS
    return {name: str(variables[name]) for name in names if variables.get(name)}
