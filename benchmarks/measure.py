"""What the benchmarks share: running commands, looking at the machine, and ratios taken in turns, with their spread."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TWINRUN = [sys.executable, "-m", "twinrun"]
_INSTALLED = Path(sys.executable).parent / "twinrun"
SCRIPT = [str(_INSTALLED)] if _INSTALLED.is_file() else TWINRUN  # what a user calls
QUIET = 0.1  # of the processors may be taken by others
_LAST_LINES = 25


def environment(**changes: str) -> dict[str, str]:
    """For a command that runs in this folder: Twinrun need not be installed, and its path may be relative to another."""
    path = [
        str(Path(entry).absolute()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
    ]
    kept = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **changes}
    return {**kept, "PYTHONPATH": os.pathsep.join(path)} if path else kept


def run(command: Sequence[str], cwd: Path = HERE, **changes: str) -> None:
    """A command that must succeed. Where it does not, all ends here, with the last lines that it printed. `changes`: of the
    environment."""
    with tempfile.TemporaryFile() as printed:
        done = subprocess.run(
            command,
            check=False,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=environment(**changes),
            cwd=cwd,
        )
        if done.returncode:
            printed.seek(0)
            lines = printed.read().decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
            words = (
                f"{shlex.join(command)}\nended with exit code {done.returncode}; its last lines of output:"
            )
            sys.exit("\n".join([words, *lines]))


def seconds(command: Sequence[str], cwd: Path = HERE, **changes: str) -> float:
    """Wall time of a command that must succeed."""
    start = time.perf_counter()
    run(command, cwd, **changes)
    return time.perf_counter() - start


# the machine


def machine() -> str:
    """Its processor, how many of it there are for us, and its GPU."""
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    model = found[1].strip() if found else platform.machine()
    return ", ".join([f"{cores()} cores of {model}", *gpus()])


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> list[str]:
    """The names of the GPUs that this machine has."""
    if shutil.which("nvidia-smi") is None:
        return []
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []


def taken_by_others(pause: float = 3.0) -> float:
    """The share of all processors that is in use while we do nothing."""
    before = _jiffies()
    time.sleep(pause)
    after = _jiffies()
    idle, total = (later - earlier for earlier, later in zip(before, after, strict=True))
    return 1 - idle / total if total else 0.0


def _jiffies() -> tuple[int, int]:
    """Of all processors: idle, and in all."""
    counts = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return counts[3] + counts[4], sum(counts[:8])


def load_in_words(share: float) -> str:
    if share <= QUIET:
        return f"quiet: others took {share:.0%} of it"
    return f"busy: others took {share:.0%} of it, so that every figure is an upper bound"


# ratios


def in_turns(arms: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, list[float]]:
    """Every arm once in each round, so that other load on the machine reaches them all."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(repetitions):
        for name, measure in arms.items():
            times[name].append(measure())
    return times


def ratios(times: Mapping[str, Sequence[float]], arm: str, base: str) -> list[float]:
    """Of each round."""
    return [a / b for a, b in zip(times[arm], times[base], strict=True)]


def ratio(times: Mapping[str, Sequence[float]], arm: str, base: str) -> float:
    """The median of the ratios of each round."""
    return statistics.median(ratios(times, arm, base))


def spread(found: Sequence[float]) -> str:
    """The median, and between which values the middle half lies."""
    if len(found) < 2:
        return f"{found[0]:.2f}"
    low, _, high = statistics.quantiles(found, n=4, method="inclusive")
    return f"{statistics.median(found):.2f} ({low:.2f}–{high:.2f})"


def calm_ratio(times: Mapping[str, Sequence[float]], arm: str, base: str) -> float:
    """The ratio of the fastest rounds: what the arms need on an idle machine."""
    return min(times[arm]) / min(times[base])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)
