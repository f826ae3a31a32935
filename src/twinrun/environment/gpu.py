"""NVIDIA GPUs as the driver sees them, whether or not the program uses them. Nothing is loaded on a machine
without one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_DRIVER = Path("/proc/driver/nvidia/version")


def read_gpu(driver: Path = _DRIVER) -> dict[str, Any]:
    """Models, count and driver; `{"count": 0}` where no driver is loaded."""
    if not driver.exists():
        return {"count": 0}
    found = re.search(r"Kernel Module\D*?(\d+\.\d[\d.]*)", driver.read_text())
    facts: dict[str, Any] = {"driver": found[1] if found else "unknown"}
    try:
        facts.update(_ask_nvml())
    except Exception as problem:  # NVML has its own exceptions, and may not be installed
        facts["models"] = f"could not read: {type(problem).__name__}: {problem}"
        facts["count"] = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return facts


def _ask_nvml() -> dict[str, Any]:
    import pynvml

    pynvml.nvmlInit()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        models = [pynvml.nvmlDeviceGetName(handle) for handle in handles]
        cuda = pynvml.nvmlSystemGetCudaDriverVersion()
        return {
            "count": len(models),
            "models": [name.decode() if isinstance(name, bytes) else str(name) for name in models],
            "cuda_of_driver": f"{cuda // 1000}.{cuda % 1000 // 10}",
        }
    finally:
        pynvml.nvmlShutdown()
