"""The machine: interpreter, operating system, C library, CPU and its instruction sets, GPUs, and the limits this
process runs under."""

from __future__ import annotations

import locale
import os
import platform
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinrun.environment.environment import UNREAD
from twinrun.masking import strip_user_info

_AVX512 = "avx512f avx512bw avx512vl avx512dq"
# From the weakest to the strongest: the key's name of a level, the flags that a CPU of it has, and the values of
# ONEDNN_MAX_CPU_ISA that limit a stronger one to it, of which the first is the one to set.
LEVELS = {
    "sse2": ("sse2", ()),
    "sse4": ("sse4_1", ("SSE41",)),
    "avx": ("avx", ("AVX",)),
    "avx2": ("avx2 fma", ("AVX2", "AVX2_VNNI", "AVX2_VNNI_2")),
    "avx512": (_AVX512, ("AVX512_CORE",)),
    "avx512_vnni": (f"{_AVX512} avx512_vnni", ("AVX512_CORE_VNNI",)),
    "avx512_bf16": (f"{_AVX512} avx512_vnni avx512_bf16", ("AVX512_CORE_BF16",)),
    "avx512_fp16": (f"{_AVX512} avx512_vnni avx512_bf16 avx512_fp16", ("AVX512_CORE_FP16", "AVX10_1_512")),
    "amx": (
        "avx512f avx512_bf16 amx_tile amx_bf16",
        ("AVX512_CORE_AMX", "AVX512_CORE_AMX_FP16", "AVX10_1_512_AMX", "AVX10_1_512_AMX_FP16"),
    ),
}
_DRIVER = Path("/proc/driver/nvidia/version")


def read_python() -> dict[str, Any]:
    """The interpreter and the settings that only its start can change."""
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "hash_seed": hash_seed(),
        "optimize": sys.flags.optimize,
    }


def hash_seed() -> str:
    """The one that the interpreter was started with: setting PYTHONHASHSEED later does nothing."""
    if sys.flags.hash_randomization == 0:
        return "0"
    started_with = Path("/proc/self/environ").read_bytes()
    found = re.search(rb"(?:^|\0)PYTHONHASHSEED=([^\0]+)", started_with)
    return found[1].decode() if found else "random"


def read_platform() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME", "unknown"),
        "libc": " ".join(platform.libc_ver()).strip() or "unknown",
        "machine": platform.machine(),
        "container": container(),
        "locale": current_locale(),
        "encoding": sys.getfilesystemencoding(),
        "time_zone": time_zone(),
    }


def read_cpu() -> dict[str, Any]:
    """Model, instruction sets, and how many CPUs there are, may be used, and are allowed by cgroups."""
    import archspec.cpu

    first = cpu_info(Path("/proc/cpuinfo"))
    flags = first.get("flags", first.get("Features", "")).split()
    return {
        "model": first.get("model name", platform.processor() or platform.machine()),
        "vendor": first.get("vendor_id", "unknown"),
        "family": "/".join(first[name] for name in ("cpu family", "model", "stepping") if name in first),
        "microarchitecture": str(archspec.cpu.host().name),
        "vector": vector_level(flags),
        "vector_in_effect": vector_in_effect(flags, os.environ),
        "count": os.cpu_count(),
        "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cgroup_limit": cgroup_limit(),
    }


def cpu_info(path: Path) -> dict[str, str]:
    """The first processor of /proc/cpuinfo; on a large machine the rest is a megabyte of the same."""
    info: dict[str, str] = {}
    with path.open() as lines:
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon and info:
                break
            info[name.strip()] = value.strip()
    return info


def vector_level(flags: list[str]) -> str:
    """The strongest instruction-set level the CPU has."""
    have = set(flags)
    levels = [name for name, (needed, _) in LEVELS.items() if have.issuperset(needed.split())]
    if levels:
        return levels[-1]
    return "sve" if "sve" in have else "neon" if "asimd" in have else "none"


def vector_in_effect(flags: list[str], environment: Mapping[str, str]) -> str:
    """The level that numeric libraries may use: what the CPU has, unless ONEDNN_MAX_CPU_ISA caps it lower."""
    hardware = vector_level(flags)
    asked = environment.get("ONEDNN_MAX_CPU_ISA", environment.get("DNNL_MAX_CPU_ISA", "")).upper()
    cap = next((level for level, (_, values) in LEVELS.items() if asked in values), None)
    if cap is None or hardware not in LEVELS:
        return hardware
    return min(cap, hardware, key=list(LEVELS).index)


def current_locale() -> str:
    """The categories that sorting and parsing follow, as set now; one word where they agree."""
    categories = {
        name: locale.setlocale(getattr(locale, name)) for name in ("LC_CTYPE", "LC_COLLATE", "LC_NUMERIC")
    }
    if len(set(categories.values())) == 1:
        return categories["LC_CTYPE"]
    return ", ".join(f"{name}={value}" for name, value in categories.items())


def container() -> str:
    """The image where the container engine left it, else the kind of container, else `none`."""
    marker = Path("/run/.containerenv")
    if marker.exists():
        named = re.search(r'^image="?([^"\n]+)', marker.read_text(), re.MULTILINE)
        return strip_user_info(named[1]) if named else "podman, image unknown"
    for variable in ("SINGULARITY_CONTAINER", "APPTAINER_CONTAINER"):
        if variable in os.environ:
            return Path(os.environ[variable]).name
    if Path("/.dockerenv").exists():
        return "docker, image unknown"
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes, image unknown"
    return "none"


def time_zone() -> str:
    """The zone's name where there is one: offsets change with the season, names do not."""
    if "TZ" in os.environ:
        return os.environ["TZ"]
    return str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2] or time.tzname[0]


def cgroup_limit(
    root: Path = Path("/sys/fs/cgroup"), process: Path = Path("/proc/self/cgroup")
) -> float | None:
    """CPUs this process may use, or None without a limit. Reads both versions of cgroups."""
    limits: list[float] = []
    for line in process.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        base = root if controllers == "" else root / "cpu" if "cpu" in controllers.split(",") else None
        if base is None:
            continue
        inner = Path(path.lstrip("/"))
        # A limit set on any parent holds as well; inside a container the path may not exist below the mount.
        quotas = [_quota(folder) for folder in (base / inner, *(base / parent for parent in inner.parents))]
        limits += [quota for quota in quotas if quota is not None]
    return min(limits, default=None)


def _quota(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = (
                (folder / f"cpu.cfs_{what}_us").read_text().strip() for what in ("quota", "period")
            )
        return None if quota in ("max", "-1") else round(int(quota) / int(period), 3)
    except (OSError, ValueError):
        return None


def read_gpu(driver: Path = _DRIVER) -> dict[str, Any]:
    """NVIDIA GPUs as the driver sees them, whether or not the program uses them: models, count and driver;
    `{"count": 0}` where no driver is loaded."""
    if not driver.exists():
        return {"count": 0}
    found = re.search(r"Kernel Module\D*?(\d+\.\d[\d.]*)", driver.read_text())
    facts: dict[str, Any] = {"driver": found[1] if found else "unknown"}
    try:
        facts.update(_from_nvml())
    except Exception as problem:  # NVML has its own exceptions, and may not be installed
        facts["models"] = f"{UNREAD}{type(problem).__name__}: {problem}"
        facts["count"] = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return facts


def _from_nvml() -> dict[str, Any]:
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
