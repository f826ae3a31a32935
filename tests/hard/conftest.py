"""What the hard tests measure: a table at the end of the run, and a file where one is asked for."""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages import blocks, install

Figures = Callable[..., None]
_FIGURES = pytest.StashKey[dict[str, dict[str, Any]]]()
# A framework that takes no time to import.
PAGE = {name: text for name, text in blocks("add-a-framework.md").items() if name != "train.py"}


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """`figures(wrong=0, seconds=3.2)`, under the name of the test."""
    known = request.config.stash.setdefault(_FIGURES, {})

    def add(**found: Any) -> None:
        known.setdefault(request.node.name.removeprefix("test_"), {}).update(found)

    return add


@pytest.fixture
def chance(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> random.Random:
    """The random choices of a test: the same for the same --seed."""
    seed = pytestconfig.getoption("--seed")
    print(f"\n{request.node.name}: --seed {seed}")
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture
def tinynet(tmp_path: Path) -> dict[str, str | None]:
    """The variables with which a program can import the framework of docs/how-to/add-a-framework.md."""
    return {"PYTHONPATH": str(install(PAGE, tmp_path))}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(_FIGURES, {})
    for part, values in found.items():
        terminalreporter.section(part.replace("_", " "))
        for name, value in values.items():
            terminalreporter.write_line(f"{name.replace('_', ' '):<40} {value}")
    if found and (file := config.getoption("--figures")):
        document = {"made": _made(config), **found}
        Path(file).write_text(json.dumps(document, indent=1) + "\n")


def _made(config: pytest.Config) -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=config.rootpath,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "seed": config.getoption("--seed"),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}",
    }
