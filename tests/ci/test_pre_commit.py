"""The pre-commit hook, installed and run by pre-commit itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hatchling
import pytest
import yaml

from support import environment, write

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(sys.prefix) / "trackers" / "site-packages"
LOOSE = """
import keras
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit([[1.0]], [[1.0]])
"""
pytestmark = [
    pytest.mark.skipif(
        not (PACKAGES / "pre_commit").is_dir(),
        reason="pre-commit is not there (make test-trackers installs it)",
    ),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only in a clone of the repository"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    write(folder, LOOSE)
    write(folder, "print(1)\n", "clean.py")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def pre_commit(project: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    given = environment(PYTHONPATH=str(PACKAGES), PATH=path, PRE_COMMIT_HOME=str(project.parent / "cache"))
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *words], cwd=project, env={**given, **variables}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def found_in(output: str) -> None:
    assert "likely[TW105]" in output and "train.py:3" in output, output
    assert "clean.py:" not in output


def test_pre_commit_installs_the_hook_from_this_repository_and_runs_it(project: Path) -> None:
    """With no index: what the hook needs is what these tests have, and only Twinrun itself is built and installed."""
    ours = os.pathsep.join((str(PACKAGES), str(Path(hatchling.__file__).parents[1])))
    # In pip's own words, "0" for this option means that the build is not isolated.
    offline = {"PYTHONPATH": ours, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    words = ("try-repo", str(ROOT), "twinrun-audit", "--all-files")
    done = pre_commit(project, *words, **offline)
    assert done.returncode == 1, done.stdout + done.stderr
    found_in(done.stdout)
    write(project, "print(1)\n")
    done = pre_commit(project, *words, **offline)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_project_that_has_twinrun_needs_no_other_copy(project: Path) -> None:
    """The second block of the page: nothing is installed."""
    page = (ROOT / "docs" / "how-to" / "audit-source.md").read_text()
    block = next(each for each in page.split("```yaml\n")[1:] if "language: system" in each).partition("```")[
        0
    ]
    assert yaml.safe_load(block)["repos"][0]["repo"] == "local"
    write(project, block, ".pre-commit-config.yaml")
    git(project, "add", ".")
    done = pre_commit(project, "run", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    found_in(done.stdout)
