"""The runner scores the suites and the fixes rightly. A stand-in for twinrun answers, so nothing is trained."""

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
import json, sys
words = sys.argv[1:]
name = next(word for word in words if word.endswith(".py"))
answer = json.load(open({answers!r}))[name]
if words[0] == "fix":
    sys.stdout.write(answer["patch"])
    print(answer.get("said", "proved"), file=sys.stderr)
    sys.exit(answer.get("exit", 0))
print(json.dumps(answer))
sys.exit({{"repeats": 0, "diverges": 1, "undecided": 2}}[answer["verdict"]])
"""

MANIFESTS = {
    "hide": """
[[program]]
name = "export"
root = "programs/export.py"
run = ["export.py"]
group = "hidden"
verdict = ["diverges", "undecided"]
delivers = ["stdout"]
steady = "^loss"
kinds = ["unwatched-output"]
""",
    "looks": """
[[program]]
name = "bar"
root = "programs/bar.py"
run = ["bar.py"]
group = "innocent"
verdict = "repeats"
""",
    "real": """
[[program]]
name = "gan"
root = "programs/gan.py"
run = ["gan.py"]
group = "guilty"
verdict = "diverges"
showy = "^took"
[[program.cause]]
codes = ["TW101", "TW105"]
lines = ["gan.py:3-4"]
fix = [["gan.py", "random.random()", "0.25"]]
[[program.cause]]
codes = ["TW303"]
lines = ["gan.py:5"]
fix = [["gan.py", "time.time_ns()", "7"]]
""",
}

SCRIPT = """import random
import time
print("took", time.perf_counter(), "s")
first = random.random()
second = time.time_ns()
print("weights", first, second)
"""

PATCH = """--- a/gan.py
+++ b/gan.py
@@ -1,6 +1,6 @@
 import random
 import time
 print("took", time.perf_counter(), "s")
-first = random.random()
-second = time.time_ns()
+first = random.Random(1).random()
+second = 7
 print("weights", first, second)
"""
HALF = PATCH.replace("-second = time.time_ns()\n", " second = time.time_ns()\n").replace("+second = 7\n", "")


def finding(code: str, line: int, confirmed: bool = True, evidence: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"code": code, "file": "gan.py", "line": line, "confirmed": confirmed, "evidence": list(evidence)}


class Bench:
    """The suites in small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for suite, text in MANIFESTS.items():
            (folder / suite / "programs").mkdir(parents=True)
            (folder / suite / "manifest.toml").write_text(text, encoding="utf-8")
            for name in ("export", "bar", "gan"):
                (folder / suite / "programs" / f"{name}.py").write_text(SCRIPT, encoding="utf-8")

    def run(self, suite: str, answer: dict[str, Any], *words: str) -> tuple[int, str, dict[str, Any]]:
        name = {"hide": "export.py", "looks": "bar.py", "real": "gan.py"}[suite]
        given = self.folder / "answers.json"
        given.write_text(json.dumps({name: answer}), encoding="utf-8")
        stand_in = STAND_IN.format(python=sys.executable, answers=str(given))
        twinrun = executable(self.folder / "twinrun", stand_in)
        results = self.folder / "results.json"
        command = [
            sys.executable,
            str(ZOO / "run.py"),
            "--manifest",
            str(self.folder / suite / "manifest.toml"),
        ]
        command += ["--twinrun", str(twinrun), "--json", str(results), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        row: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))[0]
        return done.returncode, done.stdout + done.stderr, row


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(("verdict", "code"), [("diverges", 0), ("undecided", 0), ("repeats", 1)])
def test_what_hides_a_difference_may_be_anything_but_repeats(bench: Bench, verdict: str, code: int) -> None:
    answer = {"verdict": verdict, "reason_kind": "unwatched-output", "findings": []}
    assert bench.run("hide", answer)[0] == code


def test_undecided_for_another_reason_is_no_answer(bench: Bench) -> None:
    code, text, _ = bench.run("hide", {"verdict": "undecided", "reason_kind": "timeout", "findings": []})
    assert code == 1 and "undecided for another reason: timeout" in text


def test_a_finding_on_what_only_looks_guilty_is_a_false_alarm(bench: Bench) -> None:
    assert bench.run("looks", {"verdict": "repeats", "findings": []})[0] == 0
    code, text, row = bench.run("looks", {"verdict": "repeats", "findings": [finding("TW303", 3, False)]})
    assert code == 1 and "FAILS  no false alarm" in text and row["false"] == ["TW303 gan.py:3"]


def test_every_cause_of_a_real_program_must_be_named_at_one_of_its_lines(bench: Bench) -> None:
    both = [finding("TW105", 3), finding("TW303", 5, False)]
    assert bench.run("real", {"verdict": "diverges", "findings": both})[0] == 0
    code, text, row = bench.run("real", {"verdict": "diverges", "findings": both[:1]})
    assert code == 1 and row["missed"] == ["TW303"] and "FAILS  every cause is named" in text
    code, _, row = bench.run(
        "real", {"verdict": "diverges", "findings": [both[0], finding("TW303", 2, False)]}
    )
    assert code == 1 and row["missed"] == ["TW303"]


def test_a_line_in_the_evidence_of_a_finding_counts_as_named(bench: Bench) -> None:
    found = [finding("TW101", 1, evidence=("also at gan.py:4",)), finding("TW303", 5)]
    assert bench.run("real", {"verdict": "diverges", "findings": found})[0] == 0


def test_a_confirmed_finding_that_names_no_cause_is_false(bench: Bench) -> None:
    found = [finding("TW105", 3), finding("TW303", 5), finding("TW301", 5)]
    code, text, row = bench.run("real", {"verdict": "diverges", "findings": found})
    assert code == 1 and row["false"] == ["TW301 gan.py:5"] and "FAILS  nothing false is confirmed" in text


def test_under_load_an_answer_may_know_less_but_not_nothing(bench: Bench) -> None:
    some = {"verdict": "diverges", "findings": [finding("TW105", 3, False)]}
    assert bench.run("real", some, "--load", "1")[0] == 0
    code, text, _ = bench.run("real", {"verdict": "diverges", "findings": []}, "--load", "1")
    assert code == 1 and "FAILS  no answer is empty" in text


def test_a_patch_is_applied_and_the_patched_program_repeats(bench: Bench) -> None:
    code, text, row = bench.run("real", {"patch": PATCH}, "--fix")
    assert code == 0, text
    assert row["repeats"] is True and row["proved"] is True
    assert "1 of 1 that edits can fix repeat in 3 plain runs" in text


def test_a_patch_that_is_called_proved_and_is_not_enough_fails(bench: Bench) -> None:
    code, text, row = bench.run("real", {"patch": HALF}, "--fix")
    assert code == 1 and row["repeats"] is False
    assert "3 different results in 3 plain runs" in text and "FAILS  what is called proved repeats" in text


def test_a_patch_that_git_refuses_or_that_is_not_there_is_reported(bench: Bench) -> None:
    _, text, row = bench.run("real", {"patch": PATCH.replace("import time", "import clock")}, "--fix")
    assert row["repeats"] is False and "git apply: error" in text
    _, text, row = bench.run("real", {"patch": "", "said": "no change helps", "exit": 1}, "--fix")
    assert row["proved"] is False and "no change helps" in text
