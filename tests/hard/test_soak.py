"""Small programs of every kind, checked one after the other by one process while the load changes. No verdict may be wrong, and
the process may not grow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import environment


def test_soak(pytestconfig: pytest.Config, tmp_path: Path, figures: Any) -> None:
    count, tensorflow, seed = (
        pytestconfig.getoption(name) for name in ("--soak", "--soak-tensorflow", "--seed")
    )
    print(f"\ntest_soak: --seed {seed}", flush=True)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("soak.py"), *map(str, (count, tensorflow, seed, tmp_path))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        check=True,
    )
    found = json.loads(done.stdout)
    figures(**found)
    assert not found["wrong"], "\n".join(found["wrong"])
    assert found["more_open_files"] <= 0 and found["more_threads"] <= 0
    if count >= 100:  # before that it is still loading what it needs
        assert found["memory_growth_mb"] < count * 0.1
