"""The pytest plugin, from outside: pytest is run on small projects, and what it reports is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TRAINING = '''
import pytest


def train(seed):
    import keras
    import numpy as np

    if seed is not None:
        keras.utils.set_random_seed(seed)
    x, y = np.ones((16, 4), "float32"), np.zeros(16, "int32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=8, verbose=0)
    return model


@pytest.fixture
def costly():
    """Must run in the twins and nowhere else."""
    import os

    assert "TWINRUN_PYTEST_TWIN" in os.environ


@pytest.mark.twinrun(runs=2, contract="bitwise")
@pytest.mark.parametrize("seed", [7])
def test_seeded(seed, costly):
    train(seed)


@pytest.mark.twinrun(diagnose=False)
def test_unseeded():
    train(None)


class TestGroup:
    @pytest.mark.twinrun
    def test_nothing_is_trained(self):
        pass

    @pytest.mark.twinrun
    def test_broken(self):
        assert 1 == 2, "by itself"


def test_a_program(twinrun, tmp_path):
    program = tmp_path / "idle.py"
    program.write_text("print('no training')")
    twinrun.check(program)
'''

BASELINES = """
import numpy as np


def test_kept(twinrun):
    result = twinrun.baseline("kept", {"w": np.arange(3.0) * FACTOR}, metrics={"loss": 0.5})
    assert result.verdict == "repeats"


def test_near(twinrun):
    twinrun.baseline("near", [np.ones(3, "float32") * np.float32(FACTOR)], contract="rtol=0.5")
"""


def run_pytest(folder: Path, *options: str, **variables: str) -> tuple[dict[str, tuple[str, str]], str]:
    """Outcome and message of each test, and all that was printed."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))
    }
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TWINRUN_HOME": str(folder / ".recordings"), **variables}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml", "out.xml", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    outcomes: dict[str, tuple[str, str]] = {}
    if (folder / "out.xml").exists():
        for case in ElementTree.parse(folder / "out.xml").iter("testcase"):
            inner = next(iter(case), None)
            kind = "passed" if inner is None else inner.tag
            message = "" if inner is None else f"{inner.get('message')}\n{inner.text}"
            outcomes[str(case.get("name"))] = (kind, message)
        (folder / "out.xml").unlink()
    return outcomes, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_training.py").write_text(TRAINING)
    # Options that a twin could not understand, and must not get.
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -n 2 --strict-markers\n")
    return folder


@pytest.mark.slow
def test_passing_failing_and_undecided_tests_under_xdist(project: Path) -> None:
    outcomes, printed = run_pytest(project)
    assert {name: kind for name, (kind, _) in outcomes.items()} == {
        "test_seeded[7]": "passed",
        "test_unseeded": "failure",
        "test_nothing_is_trained": "skipped",
        "test_broken": "failure",
        "test_a_program": "skipped",
    }, printed
    assert "diverges at step 0" in outcomes["test_unseeded"][1]
    assert "no training step was observed" in outcomes["test_nothing_is_trained"][1]
    assert "by itself" in outcomes["test_broken"][1]


def test_with_strict_what_could_not_be_judged_is_an_error(project: Path) -> None:
    outcomes, _ = run_pytest(project, "--twinrun-strict", "-n", "0", "-k", "nothing_is_trained")
    assert outcomes["test_nothing_is_trained"][0] == "error"
    assert "undecided[no-step]: no training step was observed" in outcomes["test_nothing_is_trained"][1]


def test_a_fault_of_our_own_is_an_error_and_no_failed_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import twinrun.api\ndef broken(*_, **__): raise LookupError('oops')\ntwinrun.api.check = broken\n"
    )
    test = tmp_path / "test_training.py"
    test.write_text("import pytest\n@pytest.mark.twinrun\ndef test_marked(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 error" in done.stdout) == (2, True), done.stdout
    assert "LookupError: oops" in done.stdout and "bug in Twinrun" in done.stdout
    test.write_text(test.read_text() + "def test_other(): assert False\n")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_collection_imports_no_framework_and_nothing_heavy_of_ours(project: Path) -> None:
    ours = "'twinrun.api', 'twinrun.baselines', 'twinrun.launch'"
    heavy = f"('tensorflow', 'keras', 'numpy', 'rich', 'jinja2', {ours})"
    (project / "conftest.py").write_text(
        "import json, sys\n"
        "def pytest_sessionfinish():\n"
        f"    loaded = [name for name in {heavy} if name in sys.modules]\n"
        "    open('loaded.json', 'w').write(json.dumps(loaded))\n"
    )
    try:
        run_pytest(project, "--collect-only", "-n", "0")
        assert json.loads((project / "loaded.json").read_text()) == []
    finally:
        (project / "conftest.py").unlink()


def test_a_bad_marker_is_an_error_of_its_own_test_alone(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "@pytest.mark.twinrun(rums=3)\ndef test_unknown(): pass\n"
        "@pytest.mark.twinrun(3)\ndef test_positional(): pass\n"
        "@pytest.mark.twinrun(runs=1)\ndef test_value(): pass\n"
        "def test_other(): pass\n"
    )
    outcomes, _ = run_pytest(tmp_path)
    assert {name: kind for name, (kind, _) in outcomes.items()} == {
        "test_unknown": "error",
        "test_positional": "error",
        "test_value": "error",
        "test_other": "passed",
    }
    assert "unknown option of the twinrun marker: rums" in outcomes["test_unknown"][1]
    assert "positional arguments" in outcomes["test_positional"][1]
    assert "runs must be at least 2" in outcomes["test_value"][1]


@pytest.mark.parametrize("options", [(), ("--twinrun-strict",)])
def test_a_test_that_skips_itself_in_its_twins_is_skipped_with_its_reason(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\n@pytest.mark.twinrun\ndef test_x(): pytest.skip('no data here')\n"
    )
    outcomes, printed = run_pytest(tmp_path, "-rs", *options)
    assert outcomes["test_x"][0] == "skipped", printed
    assert "test_x.py:2: no data here" in printed  # and not in our plugin
    assert "no data here" in outcomes["test_x"][1] and "undecided" not in outcomes["test_x"][1]


def test_a_test_that_is_killed_fails(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import os, pytest, signal\n@pytest.mark.twinrun\ndef test_x(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    outcomes, printed = run_pytest(tmp_path)
    assert outcomes["test_x"][0] == "failure", printed


def test_a_baseline_in_a_test_is_recorded_held_left_and_accepted(tmp_path: Path) -> None:
    def write(factor: float) -> None:
        (tmp_path / "test_kept.py").write_text(f"FACTOR = {factor}\n{BASELINES}")

    write(1)
    missing, _ = run_pytest(tmp_path)
    assert missing["test_kept"][0] == "skipped"
    assert "record one with `pytest --twinrun-record`" in missing["test_kept"][1]
    assert run_pytest(tmp_path, "--twinrun-strict")[0]["test_kept"][0] == "failure"
    recorded, printed = run_pytest(tmp_path, "--twinrun-record", "-n", "2")
    assert {kind for kind, _ in recorded.values()} == {"passed"}, printed
    assert len(list((tmp_path / "twinrun-baselines").glob("*/*.json"))) == 2
    assert {kind for kind, _ in run_pytest(tmp_path)[0].values()} == {"passed"}

    write(1.25)
    left, _ = run_pytest(tmp_path)
    assert left["test_kept"][0] == "failure"
    assert "w differs" in left["test_kept"][1]
    assert left["test_near"][0] == "passed", "within its contract"
    accepted, _ = run_pytest(tmp_path, "--twinrun-accept", "a larger factor")
    assert accepted["test_kept"][0] == "passed"
    assert {kind for kind, _ in run_pytest(tmp_path)[0].values()} == {"passed"}
    (kept,) = (tmp_path / "twinrun-baselines" / "kept").glob("*.json")
    assert json.loads(kept.read_text())["history"][0]["reason"] == "a larger factor"

    kept.write_text(kept.read_text()[:300])
    damaged, _ = run_pytest(tmp_path)
    assert damaged["test_kept"][0] == "failure"
    assert "cannot be used" in damaged["test_kept"][1]
