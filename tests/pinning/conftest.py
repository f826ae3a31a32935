"""Running the programs of these tests: through Twinrun's own command, in fresh processes, and as few as
possible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent.parent / "programs" / "pinning"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def twinrun(tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("home")
    unset = ("PYTHONHASHSEED", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS", "TWINRUN_PIN")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TWINRUN_HOME": str(home), "CUDA_VISIBLE_DEVICES": "-1"}

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "twinrun", *words],
            capture_output=True,
            text=True,
            env={**environment, **variables},
            timeout=300,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr  # one of our own, whatever the program did
        return done

    return run


@pytest.fixture(scope="session")
def printed(twinrun: Run, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What a program printed as JSON, run through `twinrun run` with the given options."""

    def run(program: str, *options: str, **variables: str) -> Any:
        folder = tmp_path_factory.mktemp("run") / "recording"
        done = twinrun("run", *options, "--dir", str(folder), str(PROGRAMS / program), **variables)
        output = (folder / "A" / "stdout.txt").read_text()
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(output.strip().splitlines()[-1])

    return run
