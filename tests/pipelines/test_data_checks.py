"""The checks of `checks/`, each reported as a test of its own, all run in one process with TensorFlow."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def all_checks() -> list[tuple[str, str]]:
    """Every public function of the check files, without importing them."""
    found = []
    for file in sorted((FOLDER / "checks").glob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.args.args:
                found.append((file.stem, node.name))
    return found


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str, str], str | None]]:
    command = [sys.executable, str(FOLDER / "worker.py")]
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert worker.stdin is not None and worker.stdout is not None
    stdin, stdout = worker.stdin, worker.stdout

    def ask(module: str, name: str) -> str | None:
        stdin.write(json.dumps([module, name]) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the process with TensorFlow died"
        found: str | None = json.loads(answer)
        return found

    yield ask
    stdin.close()
    worker.wait(timeout=60)


@pytest.mark.parametrize(("module", "name"), all_checks(), ids=str)
def test_input_pipelines(run: Callable[[str, str], str | None], module: str, name: str) -> None:
    problem = run(module, name)
    assert problem is None, problem
