"""Several causes at once, in programs of a framework that starts at once: all are named, each once, with nothing else;
and a diagnosis that ran out of time goes on where it stopped."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support import twinrun, write
from twinrun.diagnose.experiments import Laboratory
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.protocol.evidence import NoCode
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.suspect import Suspect

pytestmark = pytest.mark.usefixtures("tinynet")

PROGRAM = """
import os, random, time
import numpy as np
import tinynet
print(f"run {random.random():.3f} of {time.time():.0f}")  # looks guilty, and is not
words = "the quick brown fox jumps over the lazy dog once more".split()
order = [float(sum(word.encode())) for word in set(words)]  # TW301
mixed = sum(value * 1.5**place for place, value in enumerate(order))  # hardly ever the same for two orders
scale = np.random.rand()  # TW102
shift = np.random.normal()
jitter = random.uniform(0.0, 1.0)  # TW101
rng = np.random.default_rng()  # TW103
model = tinynet.Line(2)  # TN101
for step in range(5):
    x = np.array([[mixed * scale + shift, jitter + rng.normal()]])
    model.train_step(x, np.ones(1))
"""
CODES = {"TW301", "TN101", "TW102", "TW101", "TW103"}


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of the program, and its whole diagnosis."""
    folder = tmp_path_factory.mktemp("diagnosed")
    write(folder, PROGRAM)
    return folder, twinrun("check", "--output-format", "json", "train.py", cwd=folder).document


def places(found: dict[str, Any], *, confirmed: bool = True) -> dict[str, int]:
    chosen = [finding for finding in found["findings"] if finding["confirmed"] is confirmed]
    assert len({finding["code"] for finding in chosen}) == len(chosen), found["findings"]
    return {finding["code"]: finding["line"] for finding in chosen}


def guilty(program: str) -> dict[str, int]:
    marked = {line.partition("  # ")[2]: number for number, line in enumerate(program.splitlines(), start=1)}
    return {code: number for code, number in marked.items() if code in CODES}


def test_a_variation_matters_beside_causes_that_need_none(tmp_path: Path) -> None:
    for name in "hcfadgbe":
        (tmp_path / "shards").mkdir(exist_ok=True)
        (tmp_path / "shards" / f"{name}.txt").write_text(name)
    program = """
import os
import numpy as np
import tinynet
order = [float(ord(name[0])) for name in os.listdir("shards")]  # TW302
model = tinynet.Line(1)  # TN101
for step in range(4):
    model.train_step(np.array([[order[step] * np.random.rand()]]), np.ones(1))  # TW102
"""
    write(tmp_path, program)
    words = ["--vary", "fileorder,hashseed", "--output-format", "json", "train.py"]
    found = twinrun("check", *words, cwd=tmp_path).document
    assert places(found) == {"TW302": 5, "TN101": 6, "TW102": 8}
    assert len(found["findings"]) == 3


def test_every_cause_is_named_once_and_nothing_else(diagnosed: tuple[Path, dict[str, Any]]) -> None:
    _, found = diagnosed
    assert places(found) == guilty(PROGRAM), found
    assert not places(found, confirmed=False)
    assert len(found["experiments"]) <= 12
    numpy = next(finding for finding in found["findings"] if finding["code"] == "TW102")
    assert numpy["message"].startswith("np.random.rand ") and "(and at 1 more place)" in numpy["message"]
    assert any("np.random.normal is drawn at train.py:10" in line for line in numpy["evidence"])


def test_a_diagnosis_out_of_time_says_what_is_likely_and_goes_on_from_there(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    save = ("--output-format", "json", "--output-file", "result.json")
    twinrun("check", "--budget", "0.001s", *save, "train.py", cwd=tmp_path)
    short = json.loads((tmp_path / "result.json").read_text())
    assert short["experiments"] == [] and not places(short)
    likely = places(short, confirmed=False)
    assert {"TW102", "TW101", "TW103"} <= set(likely) <= CODES
    first = short["findings"][0]
    assert first["evidence"][-1] == "to continue: twinrun check --resume-diagnosis result.json"

    resumed = ("check", "--resume-diagnosis", "result.json", *save)
    assert twinrun(*resumed, cwd=tmp_path).code == 1
    whole = json.loads((tmp_path / "result.json").read_text())
    assert places(whole) == guilty(PROGRAM) and whole["diagnosis"]["complete"], whole

    again = twinrun(*resumed[:-2], cwd=tmp_path).document
    assert (again["findings"], again["experiments"]) == (whole["findings"], whole["experiments"])
    assert "nothing is left to try" in again["notes"]


def test_what_was_tried_is_not_tried_again(diagnosed: tuple[Path, dict[str, Any]]) -> None:
    """A diagnosis that stopped half-way: the same without its last experiments and the findings they led to."""
    folder, found = diagnosed
    done = found["experiments"][:4]
    halfway = found | {
        "experiments": done,
        "findings": [],
        "diagnosis": found["diagnosis"] | {"complete": False},
    }
    (folder / "half.json").write_text(json.dumps(halfway))
    words = ("--resume-diagnosis", "half.json", "--output-format", "json", "train.py")
    resumed = twinrun("check", *words, cwd=folder).document
    assert places(resumed) == guilty(PROGRAM)
    assert resumed["experiments"][:4] == done
    frozen = [tuple(experiment["interventions"]) for experiment in resumed["experiments"]]
    # What may race is tried more than once, on purpose.
    often = [tuple(experiment["interventions"]) for experiment in found["experiments"]]
    assert Counter(frozen) == Counter(often)


def test_secret_arguments_must_be_given_again(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    save = ("--output-format", "json", "--output-file", "result.json")
    twinrun("check", "--budget", "0.001s", *save, "train.py", "--token", "abc", cwd=tmp_path)
    answer = twinrun("check", "--resume-diagnosis", "result.json", cwd=tmp_path)
    assert answer.code == 2 and "an argument of the program may be secret" in answer.message


def test_experiments_run_side_by_side_and_do_not_disturb_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
        import numpy as np
        import tinynet
        tinynet.seed(1)
        scale = np.random.rand()
        shift = np.random.normal()
        model = tinynet.Line(2)
        for step in range(5):
            model.train_step(np.array([[scale, shift]]), np.ones(1))
    """
    monkeypatch.chdir(tmp_path)
    options = CheckOptions(Program(str(write(tmp_path, program))), experiment=True)
    lab = Laboratory(options, Screen(), 120.0, tmp_path / "experiments", NoCode(), at_once=3)
    file = str(tmp_path / "train.py")
    lines = [Suspect("numpy-random", "TW102", "", (Freeze("numpy-random", "draw", file, n),)) for n in (5, 6)]
    lab.freeze_side_by_side([(lines, "both"), (lines[:1], "first"), (lines[1:], "second")])
    outcomes = {trial.what: trial.result.verdict for trial in lab.trials}
    expected = {"both": "repeats", "first": "diverges", "second": "diverges"}
    assert outcomes == expected, [trial.result.reason for trial in lab.trials]
