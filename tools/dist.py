"""Builds the wheel and the sdist of the last commit: `python tools/dist.py FOLDER`. Run by `make dist`.

The same commit and the same hatchling give the same bytes wherever, whenever and by whomever they are built: only what is
committed is in them, and their times are the commit's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(target: Path) -> list[Path]:
    """The files, which are written to that folder."""
    target = target.resolve()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return sorted(target.glob("twinrun-*"))


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    for file in build(Path(sys.argv[1])):
        print(file)
