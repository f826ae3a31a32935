"""What CI sees: several configured programs in one go, every format of their results, and the action."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import PLAIN
from twinrun.cli.options import project_table
from twinrun.cli.programs import configured, worst
from twinrun.errors import UsageError
from twinrun.findings.finding import Finding
from twinrun.render.github import as_github
from twinrun.render.sarif import as_sarif
from twinrun.render.summary import annotation, as_markdown
from twinrun.result import CheckResult

pytestmark = pytest.mark.usefixtures("tinynet")

ROOT = Path(__file__).resolve().parents[2]
STEADY = PLAIN + "import sys\nassert sys.argv[1:] == ['--seeded']\ntrain(2)\n"
LOOSE = """
import keras
import numpy as np

x, y = np.ones((16, 4), "float32"), np.zeros((16, 1), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=8, verbose=0)
"""
CONFIGURATION = """
[tool.twinrun]
no-diagnose = true

[tool.twinrun.programs.steady]
program = "train.py"
arguments = ["--seeded"]
baseline = true

[tool.twinrun.programs.loose]
program = "loose.py"
steps = 1
"""


def twinrun(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TWINRUN_HOME": str(folder / ".recordings"),
        **variables,
    }
    command = [sys.executable, "-m", "twinrun", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two programs, checked once; every format is rendered from what was saved."""
    folder = tmp_path_factory.mktemp("ci")
    (folder / "train.py").write_text(STEADY)
    (folder / "loose.py").write_text(LOOSE)
    (folder / "pyproject.toml").write_text(CONFIGURATION)
    done = twinrun(folder, "check", "--output-format", "json", "--output-file", "result.json")
    assert done.returncode == 1, done.stderr
    assert "steady: train.py --seeded\n" in done.stderr
    return folder


def test_check_alone_checks_every_configured_program(project: Path) -> None:
    document = json.loads((project / "result.json").read_text())
    assert document["schema"] == "twinrun/check-all/1"
    assert document["verdict"] == "diverges"
    verdicts = {each["name"]: each["verdict"] for each in document["programs"]}
    assert verdicts == {"steady": "repeats", "loose": "diverges"}


def test_junit_has_a_suite_for_each_program(project: Path) -> None:
    done = twinrun(project, "report", "--output-format", "junit", "result.json")
    top = ElementTree.fromstring(done.stdout)
    assert (top.get("tests"), top.get("failures"), top.get("errors")) == ("2", "1", "0")
    assert [suite.get("name") for suite in top] == ["steady", "loose"]
    assert top.find("testsuite[@name='loose']//failure") is not None


def test_github_gets_annotations_and_a_summary(project: Path) -> None:
    summary = project / "summary.md"
    done = twinrun(
        project, "report", "--output-format", "github", "result.json", GITHUB_STEP_SUMMARY=str(summary)
    )
    assert [line.partition("::")[2].partition("::")[0] for line in done.stdout.splitlines()] == [
        "error title=twinrun loose"
    ]
    text = summary.read_text()
    assert "| steady | ✅ repeats | bitwise | none-cpu-" in text
    assert "| loose | ❌ diverges | bitwise | tf" in text
    assert "<details><summary>loose</summary>" in text


def test_text_and_sarif_of_several_programs(project: Path) -> None:
    text = twinrun(project, "report", "result.json").stdout
    assert text.startswith("== steady\nrepeats") and "\n== loose\ndiverges at step 0" in text
    assert (
        json.loads(twinrun(project, "report", "--output-format", "sarif", "result.json").stdout)["version"]
        == "2.1.0"
    )
    html = twinrun(project, "report", "--html", "out.html", "result.json")
    assert html.returncode == 2 and "one program at a time" in html.stderr


def test_the_action_s_script_says_the_verdict_and_fails_when_it_should(project: Path) -> None:
    """With a program that trains nothing, which is quick and undecided."""
    (project / "idle.py").write_text("print('::error::not ours')\n")
    script = ROOT / ".github" / "actions" / "twinrun" / "run.sh"
    outputs = project / "outputs"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TWINRUN_HOME": str(project / ".recordings"),
        "GITHUB_OUTPUT": str(outputs),
        "TWINRUN_ACTION_COMMAND": "check",
        "TWINRUN_ACTION_ARGUMENTS": "idle.py --epochs 3",
        "TWINRUN_ACTION_SARIF": "out.sarif",
    }
    for strict, code in (("true", 2), ("false", 0)):
        environment["TWINRUN_ACTION_STRICT"] = strict
        done = subprocess.run(
            ["bash", str(script)], cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert (
            "::warning title=twinrun idle.py::undecided[no-step]: no training step was observed"
            in done.stdout
        )
    assert outputs.read_text() == "verdict=undecided\nexit-code=2\n" * 2
    assert json.loads((project / "out.sarif").read_text())["runs"][0]["results"] == []


def test_a_baseline_for_every_configured_program_that_wants_one(project: Path) -> None:
    missing = twinrun(project, "baseline", "check", "--output-format", "junit")
    assert missing.returncode == 2
    assert "no baseline 'steady'" in missing.stdout and "loose" not in missing.stdout
    assert twinrun(project, "baseline", "record", "--runs", "1").returncode == 0
    held = twinrun(project, "baseline", "check", "--output-format", "json")
    assert held.returncode == 0
    document = json.loads(held.stdout)
    assert [each["program_name"] for each in document["programs"]] == ["steady"]
    assert document["programs"][0]["baseline"]["name"] == "steady"


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> None:
        (tmp_path / "pyproject.toml").write_text(text)
        project_table.cache_clear()

    yield write
    project_table.cache_clear()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tool.twinrun.programs.a]\nsteps = 3", "either program or module"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\nmodule = "x"', "either program or module"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\nstpes = 3', "unknown setting in .*: stpes"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\narguments = "--a"', "arguments is not a list"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\nsteps = "three"', "invalid value for steps: 'three'"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\nruns = true', "invalid value for runs: True"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\nruns = 1', "runs must be at least 2"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\ncontract = 3', "invalid value for contract: 3"),
        ('[tool.twinrun.programs.a]\nprogram = "x.py"\ndetail = "yes"', "invalid value for detail: 'yes'"),
        ("[tool.twinrun]\nprograms = 3", "is not a table"),
        ("[tool.twinrun.programs]\na = 3", "is not a table"),
    ],
)
def test_an_invalid_table_is_named(configure, table: str, said: str) -> None:
    configure(table)
    with pytest.raises(UsageError, match=said):
        configured()


def test_without_a_program_and_without_configuration_the_question_is_which(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    done = twinrun(tmp_path, "check")
    assert done.returncode == 2 and "which program?" in done.stderr


@pytest.mark.parametrize(("codes", "code"), [([0, 0], 0), ([0, 2], 2), ([2, 1], 1), ([1, 0], 1), ([], 0)])
def test_diverging_outweighs_not_being_able_to_judge(codes: list[int], code: int) -> None:
    assert worst(codes) == code


nasty = st.text(max_size=40) | st.sampled_from(
    ["a::b", "%0A::error::x", "x\n::error::y", "a|b", "</details>", "```"]
)


@given(nasty, nasty, nasty, st.booleans())
def test_nothing_in_a_finding_can_start_a_command_of_its_own(
    message: str, file: str, evidence: str, confirmed: bool
) -> None:
    finding = Finding("TW101", "unseeded-python-random", message, file, 3, confirmed, (evidence,))
    lines = as_github([finding]).split("\n")
    assert len(lines) == 2 and lines[1] == ""
    assert lines[0].startswith("::error " if confirmed else "::warning ")
    document = json.loads(as_sarif([finding]))
    assert document["runs"][0]["tool"]["driver"]["rules"][0]["id"] == "TW101"


@given(nasty, nasty)
def test_nothing_in_a_result_can_break_out_of_the_summary(program: str, reason: str) -> None:
    result = CheckResult(program or "p", "undecided", reason)
    assert annotation("", result).count("\n") == 1
    text = as_markdown([("", result)])
    table = [line for line in text.split("\n")[:6] if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") == 5 for line in table)
    assert text.count("</details>") - reason.count("</details>") == 1
    assert text.count("```") == 2
