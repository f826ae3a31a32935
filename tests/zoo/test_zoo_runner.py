"""The zoo's runner scores answers rightly. A stand-in for twinrun gives them, so nothing is trained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import executable

ZOO = Path(__file__).resolve().parents[2] / "zoo"

STAND_IN = """#!{python}
import json, os, sys
words = sys.argv[1:]
assert words[:4] == ["check", "--output-format", "json", "--no-progress"], words
assert "PYTHONHASHSEED" not in os.environ
answers = json.load(open({answers!r}))
name = next(word for word in words if word.endswith(".py"))
assert os.path.exists(name), "the program lies in the working directory"
answer = answers[name]
answer["words"] = words
print(json.dumps(answer))
print("some progress", file=sys.stderr)
sys.exit(answer.get("exit", {{"repeats": 0, "diverges": 1, "undecided": 2}}[answer["verdict"]]))
"""

MANIFEST = """
[[program]]
name = "dice"
root = "programs/dice.py"
run = ["dice.py", "--steps", "3"]
group = "guilty"
verdict = "diverges"
[[program.cause]]
codes = ["TW102"]
lines = ["dice.py:2"]
fix = [["dice.py", "x = 1", "x = 2"]]

[[program]]
name = "order"
root = "programs/order.py"
run = ["order.py"]
group = "guilty"
verdict = "diverges"
vary = ["fileorder", "hashseed"]
[[program.cause]]
codes = ["TW302"]
lines = ["order.py:1"]
fix = [["order.py", "x = 1", "x = 2"]]
[[program.cause]]
codes = ["TW301"]
lines = ["order.py:2"]
fix = [["order.py", "y = 1", "y = 2"]]

[[program]]
name = "clean"
root = "programs/clean.py"
run = ["clean.py"]
group = "innocent"
verdict = "repeats"
"""


def finding(code: str, file: str, line: int, confirmed: bool = True) -> dict[str, Any]:
    return {"code": code, "file": file, "line": line, "confirmed": confirmed}


RIGHT: dict[str, dict[str, Any]] = {
    "dice.py": {"verdict": "diverges", "findings": [finding("TW102", "dice.py", 2)]},
    "order.py": {
        "verdict": "diverges",
        "findings": [finding("TW301", "order.py", 2), finding("TW302", "order.py", 1)],
    },
    "clean.py": {"verdict": "repeats", "findings": []},
}


class Bench:
    """A small zoo in a folder, with a stand-in that gives prepared answers about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir(parents=True)
        for name in ("dice", "order", "clean"):
            (programs / f"{name}.py").write_text("x = 1\ny = 1\n", encoding="utf-8")
        (folder / "manifest.toml").write_text(MANIFEST, encoding="utf-8")

    def run(self, answers: dict[str, dict[str, Any]], *words: str) -> tuple[int, str, list[dict[str, Any]]]:
        given = self.folder / "answers.json"
        given.write_text(json.dumps(answers), encoding="utf-8")
        stand_in = STAND_IN.format(python=sys.executable, answers=str(given))
        twinrun = executable(self.folder / "twinrun", stand_in)
        results = self.folder / "results.json"
        command = [sys.executable, str(ZOO / "run.py"), "--manifest", str(self.folder / "manifest.toml")]
        command += ["--twinrun", str(twinrun), "--json", str(results), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = json.loads(results.read_text(encoding="utf-8")) if results.exists() else []
        return done.returncode, done.stdout + done.stderr, rows


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "small")


def changed(name: str, **fields: Any) -> dict[str, dict[str, Any]]:
    return RIGHT | {name: RIGHT[name] | fields}


def test_right_answers_hold_and_the_program_gets_its_arguments_and_variations(bench: Bench) -> None:
    code, text, rows = bench.run(RIGHT)
    assert code == 0, text
    assert all(row["right"] for row in rows)
    assert {row["name"]: row["line"] for row in rows} == {"dice": True, "order": True, "clean": None}
    assert "2 of 2 (100%) first codes right" in text
    assert "1 of 1 (100%) with several causes had all of them found" in text


def test_a_wrong_verdict_fails(bench: Bench) -> None:
    code, text, _ = bench.run(changed("dice.py", verdict="repeats", findings=[]))
    assert code == 1
    assert "FAILS  the verdict is right in all" in text


def test_an_exit_code_that_belies_the_verdict_is_a_wrong_verdict(bench: Bench) -> None:
    code, text, _ = bench.run(changed("clean.py", exit=1))
    assert code == 1
    assert "exit 1 with verdict repeats" in text


def test_a_wrong_first_code_fails_even_when_the_right_one_follows(bench: Bench) -> None:
    found = [finding("TW101", "dice.py", 2), finding("TW102", "dice.py", 2)]
    code, text, rows = bench.run(changed("dice.py", findings=found))
    assert code == 1
    assert "FAILS  the first code is right in at least 95 %" in text
    assert rows[0]["code"] is False and rows[0]["first"] == "TW101"


def test_a_wrong_line_fails(bench: Bench) -> None:
    code, text, rows = bench.run(changed("dice.py", findings=[finding("TW102", "dice.py", 1)]))
    assert code == 1
    assert rows[0]["code"] is True and rows[0]["line"] is False
    assert "FAILS  the line is right in at least 90 %" in text


def test_a_finding_on_a_clean_program_fails(bench: Bench) -> None:
    code, text, _ = bench.run(changed("clean.py", findings=[finding("TW303", "clean.py", 1, False)]))
    assert code == 1
    assert "FAILS  no finding on any clean program" in text


def test_a_missed_second_cause_is_said(bench: Bench) -> None:
    _, text, rows = bench.run(changed("order.py", findings=[finding("TW302", "order.py", 1)]))
    assert rows[1]["every_cause"] is False and rows[1]["right"] is False
    assert "a cause was missed" in text


def test_an_answer_that_is_no_json_is_a_wrong_verdict_with_its_last_words(bench: Bench) -> None:
    answers = {name: answer for name, answer in RIGHT.items() if name != "dice.py"}
    code, text, _ = bench.run(answers)
    assert code == 1
    assert "KeyError" in text


def test_programs_can_be_selected_by_name_and_by_code(bench: Bench) -> None:
    assert [row["name"] for row in bench.run(RIGHT, "dice")[2]] == ["dice"]
    assert [row["name"] for row in bench.run(RIGHT, "--code", "TW301")[2]] == ["order"]
    assert [row["name"] for row in bench.run(RIGHT, "--code", "innocent")[2]] == ["clean"]
    code, text, _ = bench.run(RIGHT, "--code", "TW999")
    assert code == 2 and "no program" in text


def test_of_held_out_programs_only_counts_and_names_of_failures_are_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "heldout")
    code, text, rows = bench.run(changed("dice.py", findings=[finding("TW999", "dice.py", 7)]))
    assert code == 1
    assert "failed: dice.py" in text
    assert "TW102          0 of 1 right" in text
    assert "TW999" not in text and "dice.py:7" not in text
    assert all("first" not in row and "place" not in row for row in rows)
