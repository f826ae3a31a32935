"""What a newcomer does in the first hour, and what they are told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import COMMAND, PLAIN, environment, twinrun, write
from twinrun.cli.check import check
from twinrun.result import CheckResult

PROBE = "import twinrun\ntwinrun.probe('x', [1, 2])\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["chek", "train.py"],
            "error: unknown verb 'chek'\nhint: did you mean check? See `twinrun --help`\n",
        ),
        (["env", "shw"], "error: unknown verb 'shw'\nhint: did you mean show? See `twinrun env --help`\n"),
        (["train.py"], "error: unknown verb 'train.py'\nhint: to check it: twinrun check train.py\n"),
        (
            ["check", "--step", "3", "train.py"],
            "error: unknown option --step\nhint: did you mean --steps? See `twinrun check --help`\n",
        ),
        (
            ["check", "--output-format", "xml", "train.py"],
            "error: invalid value for --output-format: 'xml' is not one of 'text', 'html', 'json', 'sarif', 'junit', "
            "'github'\nhint: see `twinrun check --help`\n",
        ),
        (
            ["check", "--output-format", "jsn", "train.py"],
            "error: invalid value for --output-format: 'jsn' is not one of 'text', 'html', 'json', 'sarif', 'junit', "
            "'github'\nhint: did you mean json? See `twinrun check --help`\n",
        ),
        (
            ["env", "lock", "--format", "requirement"],
            "error: invalid value for --format: 'requirement' is not one of 'lock', 'requirements'\n"
            "hint: did you mean requirements? See `twinrun env lock --help`\n",
        ),
        (
            ["check", "--vary", "hashsed", "train.py"],
            "error: unknown variation 'hashsed'\nhint: did you mean hashseed? Choose from timezone, clock, fileorder, "
            "workerfiles, hashseed, load, threads, xla, all\n",
        ),
        (
            ["check", "--steps", "x", "train.py"],
            "error: invalid value for --steps: 'x'\nhint: write a whole number\n",
        ),
        (["report"], "error: missing argument 'RESULT'\nhint: see `twinrun report --help`\n"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(words: list[str], said: str, tmp_path: Path) -> None:
    write(tmp_path, PROBE)
    answer = twinrun(*words, cwd=tmp_path)
    assert (answer.code, answer.out, answer.err) == (2, "", said)


def test_an_option_behind_the_program_is_noticed_with_the_command_to_write(tmp_path: Path) -> None:
    write(tmp_path, PROBE)
    command = ["check", "--no-diagnose", "train.py"]
    answer = twinrun(*command, "--lr", "0.1", "--steps", "3", "--fix-diff", cwd=tmp_path)
    assert answer.code == 0
    assert answer.err == (
        "note: --steps, --fix-diff are passed to the program, as everything after it is\n"
        "hint: for Twinrun, write twinrun check --no-diagnose --steps 3 --fix-diff train.py --lr 0.1\n"
    )
    # A program that has such an option of its own, and whoever writes --, mean it.
    write(tmp_path, PROBE + "'--steps'\n")
    assert twinrun(*command, "--steps", "3", cwd=tmp_path).err == ""
    assert twinrun("check", "--no-diagnose", "--", "train.py", "--fix-diff", cwd=tmp_path).err == ""


def test_a_short_option_behind_the_program_is_noticed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(write(tmp_path, "flags.add_argument('--verbose', '-q')\n"))
    for words, said in (
        (
            ["-v"],
            f"note: -v is passed to the program, as everything after it is\nhint: for Twinrun, write twinrun check -v {program}\n",
        ),
        (
            ["-o", "out.json", "3"],
            f"note: -o is passed to the program, as everything after it is\nhint: for Twinrun, write twinrun check -o out.json {program} 3\n",
        ),
        (
            ["--pin", "7"],
            f"note: --pin is passed to the program, as everything after it is\nhint: for Twinrun, write twinrun check --pin 7 {program}\n",
        ),
        (
            ["--pin", "data.csv"],
            f"note: --pin is passed to the program, as everything after it is\nhint: for Twinrun, write twinrun check --pin {program} data.csv\n",
        ),
        (["-q", "-1", "-m", "small"], ""),  # the program's own, or none of ours
    ):
        check.make_context("check", [program, *words])
        assert capsys.readouterr().err == said


@pytest.mark.usefixtures("tinynet")
def test_doctor_answers_in_a_line_for_each_control_below_its_summary(tmp_path: Path) -> None:
    program = write(tmp_path, f"{PLAIN}\nopen('made.txt', 'w').close()\ntrain(2)\n")
    lines = twinrun("doctor", program, cwd=tmp_path).out.splitlines()
    assert list(tmp_path.iterdir()) == [program]
    assert lines[0].endswith("train.py, after its first training step")
    assert lines[1].startswith(
        "2 of 5 controls in use here hold; missing: python-random, hash-seed, openmp-threads; "
    )
    assert [line[:2] for line in lines[2:7]] == ["--", "ok", "--", "--", "ok"]
    assert lines[7:] == ["", "-v shows what each protects, and how to set it"]


@pytest.mark.usefixtures("tinynet")
def test_what_a_measured_program_writes_is_gone_afterwards(tmp_path: Path) -> None:
    program = write(tmp_path, f"{PLAIN}\nopen('made.txt', 'w').close()\ntrain(8)\n")
    answer = twinrun("cost", "--controls=python-random", "--steps=8", "--rounds=1", program, cwd=tmp_path)
    assert answer.code == 0 and list(tmp_path.iterdir()) == [program], answer.err


@pytest.mark.usefixtures("tinynet")
@pytest.mark.parametrize("verb", ["cost --controls=python-random --steps=8 --rounds=1", "doctor", "audit"])
def test_a_program_that_runs_in_the_folder_itself_is_reported(tmp_path: Path, verb: str) -> None:
    program = write(tmp_path, f"{PLAIN}\nopen('made.txt', 'w').close()\ntrain(8)\n")
    answer = twinrun(*verb.split(), program, cwd=tmp_path, env={"TWINRUN_VIEWS": "shared"})
    assert (answer.out + answer.err).count("the program ran in the folder itself") == 1, answer
    assert (tmp_path / "made.txt").exists()


def completed(line: str, **env: str) -> list[str]:
    """What the shell would offer for the last word."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_TWINRUN_COMPLETE": "bash_complete"}
    done = subprocess.run(
        COMMAND, env={**environment(**env), **asked}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_shell_completes_verbs_options_and_files() -> None:
    assert completed("twinrun ch") == ["plain,check"]
    assert completed("twinrun env l") == ["plain,lock"]
    assert completed("twinrun check --output-fi") == ["plain,--output-file"]
    assert completed("twinrun check ") == ["file,"]
    assert completed("twinrun check --vary clock,th") == ["plain,clock,threads"]
    assert completed("twinrun explain tw50") == [f"plain,TW50{number}" for number in range(1, 8)]
    script = twinrun(env={"_TWINRUN_COMPLETE": "bash_source"})
    assert script.code == 0 and "_twinrun_completion" in script.out


def test_the_help_of_vary_names_every_variation() -> None:
    from twinrun.protocol.registry import variations
    from twinrun.settings import VARIATIONS

    assert VARIATIONS.split(", ") == [*variations(), "or all"]


def test_the_folder_that_a_check_prints_can_be_compared(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE)
    for name in ("one", "other"):
        answer = twinrun("check", "--no-diagnose", "--dir", tmp_path / name, program)
        assert f"recordings: {tmp_path / name}\n" in answer.out
    assert twinrun("diff", tmp_path / "one").code == 0
    assert twinrun("diff", tmp_path / "one", tmp_path / "other").code == 0
    assert twinrun("diff", tmp_path / "one", tmp_path / "other" / "B").code == 0
    refused = twinrun("diff", tmp_path)
    assert refused.code == 2 and "with what?" in refused.message
    missing = twinrun("diff", tmp_path / "none")
    assert missing.code == 2 and f"no such recording: {tmp_path / 'none'}" in missing.message
    # A file that is written is named.
    page = twinrun("diff", tmp_path / "one", "--output-format", "html", "-o", tmp_path / "page.html")
    assert (page.out, page.err) == ("", f"wrote {tmp_path / 'page.html'}\n")


def test_a_run_shows_what_the_program_prints(tmp_path: Path) -> None:
    program = write(
        tmp_path, PROBE + "import os\nprint('begun')\nprint('token=' + os.environ['API_TOKEN'], end='')\n"
    )
    env = {"API_TOKEN": "s3cr3t-v4lue-of-the-t0ken"}
    answer = twinrun("run", program, env=env)
    assert "begun\ntoken=" in answer.err and env["API_TOKEN"] not in answer.err + answer.out
    assert answer.out.startswith("recorded 0 steps")
    assert twinrun("run", "--quiet", program, env=env).err == ""


def test_colours_can_be_forced_and_forbidden(tmp_path: Path) -> None:
    saved = tmp_path / "result.json"
    saved.write_text(json.dumps(CheckResult("train.py", "repeats", steps_compared=3).as_json()))
    coloured = "\x1b[32mrepeats\x1b[0m"
    assert coloured in twinrun("report", saved, env={"FORCE_COLOR": "1"}).out
    assert coloured not in twinrun("report", saved, env={"FORCE_COLOR": "0"}).out
    assert coloured not in twinrun("report", saved, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_a_printed_result_is_a_few_lines() -> None:
    result = CheckResult("train.py", "repeats", steps_compared=3, environment={"key": {"x": "<b>" * 999}})
    assert str(result) == "repeats: 2 runs, 3 steps compared, equal bit for bit"
    assert result._repr_html_() == f"<pre>{result}</pre>" and len(repr(result)) < 80
    nasty = CheckResult("train.py", "undecided", "<script>\x1b", "no-step")
    assert nasty._repr_html_() == "<pre>undecided: &lt;script&gt;\\x1b</pre>"


def test_nothing_but_baselines_is_beside_the_baselines(tmp_path: Path) -> None:
    from twinrun.baselines.store import LocalStore

    LocalStore(tmp_path).change("kept", "one.json", lambda _: "{}")
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["one.json"]
