"""The action, the workflows and the GitLab job of the documentation, run as a runner would: the commands that they hold, taken
from the YAML, one after the other in a shell. What is not ours (checkout, Python, upload) is left out, and `pip` is one that
only notes what it is asked for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from support import PLAIN, environment, executable, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")
ROOT = Path(__file__).resolve().parents[2]
OUR_ACTION = "./.github/actions/twinrun"
CONFIGURATION = """
[tool.twinrun.programs.mnist]
program = "train.py"
arguments = ["--epochs", "1"]
baseline = true
"""


def page(name: str, **holds: str) -> Any:
    """The YAML block of a page that has this key."""
    text = (ROOT / "docs" / "how-to" / name).read_text()
    found = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)]
    return next(each for each in found if holds["having"] in str(each))


@dataclass
class Runner:
    """A machine of a CI service with a project on it."""

    project: Path
    output: str = ""
    results: dict[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        tools = (str(self.project.parent / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        files = {name: str(self.project.parent / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        return environment(PATH=os.pathsep.join(tools), **files)

    def shell(self, script: str, folder: str = ".", **variables: str) -> int:
        """As GitHub and GitLab run a step: the first command that fails ends it."""
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(
            command, cwd=self.project / folder, env={**self.variables, **variables}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        self.output += done.stdout + done.stderr
        return done.returncode

    def steps(self, steps: list[dict[str, Any]]) -> int:
        """Those that run a command, or our action. After one that fails only `if: always()` goes on."""
        code = 0
        for step in steps:
            if step.get("uses") == OUR_ACTION:
                code = code or self.action(step.get("with", {}))
            elif "run" in step:
                code = code or self.shell(step["run"])
            else:
                assert step["uses"].startswith("actions/"), step
        return code

    def action(self, given: dict[str, str]) -> int:
        """The composite action, with its inputs put where its YAML has them."""
        action = yaml.safe_load((ROOT / OUR_ACTION / "action.yml").read_text())
        assert set(given) <= set(action["inputs"])
        inputs = {name: given.get(name, each["default"]) for name, each in action["inputs"].items()}

        def filled(text: str) -> str:
            return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], text)

        (step,) = action["runs"]["steps"]
        variables = {name: filled(text) for name, text in step["env"].items()}
        code = self.shell(
            step["run"],
            filled(step["working-directory"]),
            GITHUB_ACTION_PATH=str(ROOT / OUR_ACTION),
            **variables,
        )
        lines = Path(self.variables["GITHUB_OUTPUT"]).read_text().splitlines()
        written = dict(line.split("=", 1) for line in lines)
        for name, each in action["outputs"].items():
            source = re.fullmatch(r"\$\{\{ steps\.twinrun\.outputs\.([\w-]+) \}\}", each["value"])
            assert source is not None and step["id"] == "twinrun"
            self.results[name] = written[source[1]]
        return code


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin" / "pip", f'#!/bin/sh\necho "$@" >> {tmp_path}/pip.txt\n')
    write(project, PLAIN + "train(2)\n")
    write(project, CONFIGURATION, "pyproject.toml")
    return Runner(project)


@pytest.fixture
def with_baseline(runner: Runner) -> Runner:
    recorded = twinrun("baseline", "record", "--runs", "1", cwd=runner.project)
    assert recorded.code == 0, recorded.err
    return runner


def test_the_workflow_with_the_action_holds_the_baseline(with_baseline: Runner) -> None:
    runner = with_baseline
    steps = page("baselines-in-ci.md", having=OUR_ACTION)["jobs"]["repeatable"]["steps"]
    assert runner.steps(steps) == 0, runner.output
    assert (runner.project.parent / "pip.txt").read_text() == "install -r requirements.txt twinrun\n"
    assert runner.results == {"verdict": "repeats", "exit-code": "0"}
    write(runner.project, PLAIN + "model.weight *= 2\ntrain(2)\n")
    assert runner.steps(steps) == 1, runner.output
    assert runner.results == {"verdict": "diverges", "exit-code": "1"}
    assert "::error title=twinrun mnist::diverges at step 0" in runner.output
    assert "| mnist | ❌ diverges |" in (runner.project.parent / "GITHUB_STEP_SUMMARY").read_text()


def test_the_action_writes_where_it_is_told_and_may_leave_undecided_alone(runner: Runner) -> None:
    """No baseline was recorded for this environment."""
    given = {"command": "baseline check", "sarif-file": "out.sarif", "working-directory": "."}
    assert runner.action(given) == 2, runner.output
    assert runner.results == {"verdict": "undecided", "exit-code": "2"}
    assert (runner.project / "out.sarif").exists()
    assert runner.action({**given, "fail-on-undecided": "false"}) == 0, runner.output


SHUFFLES = """
import os
if os.environ.get("TRAIN_IT"):
    import tensorflow as tf
    data = tf.data.Dataset.range(10).shuffle(10)
"""


@pytest.mark.parametrize(
    ("command", "program", "title"),
    [
        ("audit train.py", SHUFFLES, "title=TW201"),
        ("check train.py", PLAIN + "import os\nmodel.weight += os.getpid()\ntrain(2)\n", "::error title="),
    ],
)
def test_the_command_may_name_the_program(runner: Runner, command: str, program: str, title: str) -> None:
    write(runner.project, program)
    assert runner.action({"command": command, "sarif-file": "out.sarif"}) == 1, runner.output
    assert runner.results == {"verdict": "diverges", "exit-code": "1"}
    assert title in runner.output
    assert json.loads((runner.project / "out.sarif").read_text())["runs"][0]["results"]


def test_arguments_may_take_several_lines(runner: Runner) -> None:
    (runner.project / "pyproject.toml").unlink()  # which would name the program too
    assert runner.action({"arguments": "--no-diagnose\n--steps 1\ntrain.py\n"}) == 0, runner.output


def test_inputs_of_the_action_are_words_and_never_commands(runner: Runner) -> None:
    assert runner.action({"arguments": "$(touch made) `touch made` ; touch made"}) == 2
    assert not (runner.project / "made").exists()


def test_the_workflow_without_the_action_leaves_a_report(runner: Runner) -> None:
    steps = page("reports.md", having="upload-artifact")
    assert runner.steps(steps) == 0, runner.output
    (upload,) = (step["with"]["path"] for step in steps if "uses" in step)
    assert (runner.project / upload).read_text().startswith("<!doctype html>")


def test_the_gitlab_job_leaves_a_junit_report(with_baseline: Runner) -> None:
    runner = with_baseline
    job = page("baselines-in-ci.md", having="CI_PROJECT_DIR")["repeatable"]
    # The number of threads is part of the environment's key: here the baseline is of another.
    expected = {"repeats": 0, "undecided": 2}
    variables = {**job["variables"], "PIP_CACHE_DIR": "cache"}
    code = runner.shell("\n".join(job["script"]), **variables)
    report = ElementTree.parse(runner.project / job["artifacts"]["reports"]["junit"]).getroot()
    verdict = "undecided" if report.get("errors") == "1" else "repeats"
    assert code == expected[verdict], runner.output
    assert report.get("tests") == "1" and report.get("failures") == "0"
