"""The command line: light to start, clear about whose option is whose, and settled the same way everywhere."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import COMMAND, check, environment, outputs, python, twinrun, write

PROBE = "import sys, json, twinrun\nprint(json.dumps(sys.argv[1:]))\ntwinrun.probe('x', [1, 2])\n"

# Runs the command line in this very process and tells what it imported.
_IMPORTS = """
import sys
from twinrun.cli.group import cli
try:
    cli.main(sys.argv[1:], prog_name="twinrun")
except SystemExit as end:
    assert end.code == 0, end.code
print("\\nmodules:", ",".join(sorted(sys.modules)))
"""
HEAVY = {
    "numpy",
    "tensorflow",
    "keras",
    "tf_keras",
    "torch",
    "jax",
    "rich",
    "ml_dtypes",
    "safetensors",
    "sqlite3",
    "jinja2",
}


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["check", "--help"], ["run", "--help"], ["diff", "--help"]]
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    said, _, modules = python("-c", _IMPORTS, *words).out.rpartition("modules: ")
    assert said.strip() and not HEAVY & set(modules.strip().split(","))


def test_help_names_the_verbs_the_options_and_the_exit_codes() -> None:
    assert {"check", "run", "diff"} <= set(twinrun("--help").out.split())
    told = " ".join(twinrun("check", "-h").out.split())
    for option in ("--runs", "--steps", "--contract", "--pin", "--vary", "--sequential", "--timeout", "--output-format",
                   "--output-file", "--html", "--no-diagnose", "--no-progress", "--quiet", "--detail", "--dir",
                   "--freeze", "--stress"):  # fmt: skip
        assert option in told
    assert "0 repeats, 1 diverges, 2 could not judge" in told


def arguments_seen(*words: str | Path, cwd: Path | None = None) -> list[str]:
    """What the program gets, of what was written behind `twinrun check`."""
    answer = twinrun("check", "--no-diagnose", "--output-format", "json", *words, cwd=cwd)
    seen: list[str] = json.loads(outputs(answer.document)[0])
    return seen


def test_what_follows_the_program_is_the_programs_own(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE)
    theirs = ["--runs", "7", "--quiet", "--help", "-m", "x", "--pin", "--", "--steps=0", "-q"]
    assert arguments_seen(program, *theirs) == theirs
    assert arguments_seen("-m", "train", *theirs, cwd=tmp_path) == theirs
    assert arguments_seen("-mtrain", *theirs, cwd=tmp_path) == theirs
    assert arguments_seen("--", program, *theirs) == theirs


def test_pin_takes_a_value_only_where_one_stands(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE + "import os\nprint(os.environ['PYTHONHASHSEED'])")

    def seed(*words: str) -> tuple[list[str], str]:
        answer = twinrun("check", "--no-diagnose", "--output-format", "json", *words, program, "a")
        assert answer.document["verdict"] == "repeats", answer.document["reason"]
        seen, hashseed = outputs(answer.document)[0].split("\n")[:2]
        return json.loads(seen), hashseed

    default = seed("--pin")
    assert default[0] == ["a"]
    assert seed("--pin=7") == seed("--pin", "7") == seed("--pin", "seed=7")
    assert seed("--pin=7")[1] != default[1]
    assert seed("--pin=42") == default


def test_flags_come_before_variables_and_variables_before_the_project_file(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE)
    write(
        tmp_path,
        """
        [tool.twinrun]
        runs = 4
        contract = "ulp=1"
        output-format = "json"
        no-diagnose = true
        vary = ["hashseed", "timezone"]
        timeout = 90
        dir = "recordings"
        [tool.twinrun.check]
        contract = "ulp=2"
        """,
        "pyproject.toml",
    )
    (tmp_path / "below").mkdir()
    found = twinrun("check", program, cwd=tmp_path / "below").document
    assert (found["runs"], found["contract"], found["varied"]) == (4, "ulp=2", ["hashseed", "timezone"])
    assert found["recordings"][0] == str(tmp_path / "below" / "recordings" / "A")
    variables = {"TWINRUN_RUNS": "3", "TWINRUN_CONTRACT": "ulp=3", "TWINRUN_DIR": str(tmp_path / "other")}
    found = twinrun("check", program, cwd=tmp_path, env=variables).document
    assert (found["runs"], found["contract"]) == (3, "ulp=3")
    assert found["recordings"][0] == str(tmp_path / "other" / "A")
    variables["TWINRUN_DIR"] = str(tmp_path / "third")
    found = twinrun(
        "check", "--runs", "2", "--contract", "ulp=4", "--vary", "load", program, cwd=tmp_path, env=variables
    ).document
    assert (found["runs"], found["contract"], found["varied"]) == (2, "ulp=4", ["load"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("rnus = 3", "unknown option 'rnus'"),
        ("runs = 1", "runs"),
        ("runs = 'many'", "runs"),
        ("contract = 'nearly'", "nearly"),
        ("pin = 'x'", "'x'"),
    ],
)
def test_an_invalid_setting_is_refused(tmp_path: Path, line: str, says: str) -> None:
    write(tmp_path, f"[tool.twinrun]\n{line}\n", "pyproject.toml")
    answer = twinrun("check", write(tmp_path, PROBE), cwd=tmp_path)
    assert answer.code == 2 and says in answer.message


@pytest.mark.parametrize(
    ("value", "pinned"), [("true", True), ("7", True), ("'7,strict'", True), ("false", False)]
)
def test_pin_in_the_project_file(tmp_path: Path, value: str, pinned: bool) -> None:
    write(tmp_path, f"[tool.twinrun]\npin = {value}\n", "pyproject.toml")
    program = write(tmp_path, PROBE + "import os\nprint('PYTHONHASHSEED' in os.environ)")
    found = check(program, cwd=tmp_path).document
    assert [text.split()[-1] for text in outputs(found)] == [str(pinned)] * 2


def on_a_terminal(*words: str | Path, **env: str | None) -> str:
    """What the command shows on a terminal, both streams."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", **env),
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1.0)[0]:
            continue
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    process.wait(timeout=10)
    os.close(ours)
    return shown.decode()


def test_a_terminal_gets_colour_and_a_live_line_unless_told_otherwise(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE + "import time\ntime.sleep(1)")
    shown = on_a_terminal("check", "--no-diagnose", program)
    assert "\x1b[32mrepeats\x1b[0m" in shown and "before the first step" in shown
    plain = on_a_terminal("check", "--no-diagnose", program, NO_COLOR="1")
    assert "\x1b[32m" not in plain and "repeats:" in plain
    assert "first step" not in on_a_terminal("check", "--no-diagnose", "--no-progress", program)
    assert (
        on_a_terminal("check", "--no-diagnose", "--quiet", program, NO_COLOR="1", COLUMNS="200")
        .strip()
        .count("\n")
        == 0
    )


def test_elsewhere_the_answer_is_plain_and_on_stdout_alone(tmp_path: Path) -> None:
    answer = twinrun("check", "--no-diagnose", write(tmp_path, PROBE))
    assert answer.err == "" and "\x1b" not in answer.out and answer.out.startswith("repeats: 2 runs")


def test_the_answer_can_go_to_a_file(tmp_path: Path) -> None:
    answer = check(write(tmp_path, PROBE), "--output-file", str(tmp_path / "out.json"))
    assert (answer.code, answer.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["verdict"] == "repeats"


def test_the_module_and_the_command_are_one() -> None:
    script = Path(sys.executable).with_name("twinrun")
    told = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert told == twinrun("--version").out


def test_one_source_can_be_frozen_and_the_twins_stressed(tmp_path: Path) -> None:
    program = write(tmp_path, "import random, twinrun\ntwinrun.probe('x', [random.random()])\n")
    assert check(program, "--stress").document["verdict"] == "diverges"
    frozen = check(program, "--stress", "--freeze", f"python-random:{program}:2")
    assert frozen.document["verdict"] == "repeats", frozen.document["reason"]
