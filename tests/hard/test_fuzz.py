"""Every format that is read, changed at random for minutes: by hypothesis alone, and led by the code that is reached where
atheris is installed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings

from fuzzing import FORMATS

pytestmark = pytest.mark.hard
GUIDED = Path(sys.prefix) / "hard" / "site-packages"  # where `make hard` puts atheris


@pytest.fixture
def seconds(pytestconfig: pytest.Config) -> float:
    """For one format, one way."""
    minutes: float = pytestconfig.getoption("--fuzz")
    return minutes * 60 / len(FORMATS) / 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_was_changed_at_random_is_read_or_refused(
    name: str, tmp_path: Path, seconds: float, chance: random.Random, figures: Callable[..., None]
) -> None:
    kind = FORMATS[name]
    kind.make(tmp_path)
    ends, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        rounds += 1

        @seed(chance.randrange(2**32))
        @given(kind.changes(tmp_path))
        @settings(max_examples=200, suppress_health_check=list(HealthCheck), database=None)
        def each(change: object) -> None:
            kind.read(tmp_path, change)

        each()
    figures(files=rounds * 200)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_was_changed_to_reach_other_code_is_read_or_refused(
    name: str, tmp_path: Path, seconds: float, figures: Callable[..., None]
) -> None:
    if not (GUIDED / "atheris").is_dir():
        pytest.skip("atheris is not installed: it has no wheel for this Python or this machine")
    limits = [f"-max_total_time={max(1, round(seconds))}", "-timeout=60", "-rss_limit_mb=2000"]
    path = os.pathsep.join([str(GUIDED), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "guided.py"), name, *limits, "-print_final_stats=1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=10 * seconds + 600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    figures(files=int(done.stderr.rpartition("number_of_executed_units:")[2].split()[0]))
