"""The command, on programs of a framework that takes no time to import."""

from __future__ import annotations

import itertools
import json
import math
import re
import textwrap
from pathlib import Path

import pytest

from support import interrupt, start, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")
# The weights come from tinynet's stream, the data from NumPy's, which the program seeds itself; nothing comes from
# Python's, and one number from a seed that is an option of the program's. It would go on from the file that it leaves, if it found one.
PROGRAM = """
    import random, sys
    from pathlib import Path
    import numpy as np, tinynet, twinrun
    np.random.seed(3)
    left = Path("left.txt")
    found = left.exists()
    left.write_text("weights")
    x = np.random.normal(size=(8, 3))
    model = tinynet.Line(3)
    for step in range(3):
        model.train_step(x, np.ones(8))
    twinrun.probe("weight", model.weight[0])
    twinrun.probe("number", np.random.normal(0.0, 1.0))
    twinrun.probe("found", float(found))
    twinrun.probe("own", np.random.default_rng(int(sys.argv[-1]) if sys.argv[1:] else 0).normal())
"""


def test_each_source_alone_moves_what_comes_from_it_and_nothing_else(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    page = tmp_path / "page.html"
    words = (
        "spread",
        program,
        "--seeds=4",
        "--sources=tinynet-noise,numpy-random,python-random,implementation",
    )
    answer = twinrun(*words, "--output-format=json", f"--html={page}", cwd=tmp_path)
    assert answer.code == 0, answer.err
    document = answer.document
    figures = {metric["name"]: metric["sources"] for metric in document["metrics"]}
    moved = {
        name: {source for source, each in sources.items() if each["sd"]} for name, sources in figures.items()
    }
    assert moved["weight"] == {"seed", "tinynet-noise", "numpy-random"}
    assert moved["number"] == {"seed", "numpy-random"}
    assert (
        moved["found"] == set() and figures["found"]["seed"]["mean"] == 0.0
    )  # every run starts from the same files
    assert not (tmp_path / "left.txt").exists()
    assert {source: each["runs"] for source, each in figures["number"].items()} == {
        "seed": 4, "tinynet-noise": 4, "numpy-random": 4, "python-random": 3, "implementation": 4,
    }  # fmt: skip
    notes = " ".join(document["notes"])
    assert "no further runs were made: python-random (3 runs)" in notes
    assert "seeds that the program sets itself were replaced by those of each run: train.py:5" in notes
    assert "to go, about" in answer.err
    assert page.read_text().count("<svg") == 3


def test_a_program_of_known_variance_is_measured_as_it_is(tmp_path: Path) -> None:
    """`number` is a normal variate of variance 1; the runs before it were made once."""
    program, saved = write(tmp_path, PROGRAM), tmp_path / "spread.json"
    words = ("--seed-option=--seed", "--output-format=json", f"--output-file={saved}", program)
    first = twinrun("spread", "--seeds=3", "--quiet", *words, cwd=tmp_path)
    assert (first.code, first.err) == (0, f"wrote {saved}\n")
    before = json.loads(saved.read_text())
    more = twinrun("spread", "--seeds=8", f"--reuse={saved}", *words, cwd=tmp_path)
    assert more.code == 0 and more.err.count("seed, run") == 5, more.err
    document = json.loads(saved.read_text())
    assert document["runs"][:3] == before["runs"][:3]
    (number,) = [metric for metric in document["metrics"] if metric["name"] == "number"]
    found = number["sources"]["seed"]
    assert found["runs"] == 8
    assert found["interval"][0] < 0.0 < found["interval"][1]
    assert found["sd_interval"][0] < 1.0 < found["sd_interval"][1]
    assert next(each for each in document["metrics"] if each["name"] == "own")["sources"]["seed"]["sd"] > 0
    assert 2.5 * math.sqrt(2) * found["sd"] < number["band"]["width"] < 4 * math.sqrt(2) * found["sd"]
    _baseline(program, saved, document)


def _baseline(program: Path, saved: Path, document: dict[str, object]) -> None:
    """The bands become the contract of a baseline, whose run is one of the spread's, with its seed."""
    folder = program.parent
    store = ("--name=tiny", f"--store={folder / 'kept'}")
    words = ("baseline", "record", f"--from-spread={saved}", *store)
    answer = twinrun(*words, "--output-format=json", cwd=folder)
    assert answer.code == 0, answer.out + answer.err
    assert answer.document["contract"] == document["contract"]
    (kept,) = (folder / "kept" / "tiny").glob("*.json")
    seed = re.search(r'"pin": "(4\d),reseed"', kept.read_text())
    assert seed and f'"{seed[1]}"' in kept.read_text().partition('"arguments"')[2].partition("]")[0]
    other = twinrun("baseline", "check", *store, "--pin=99,reseed", program, cwd=folder)
    assert other.code == 0, other.out + other.err  # an honest run with another seed
    both = twinrun(*words, "--contract=ulp=1", cwd=folder)
    assert both.code == 2 and "brings its own contract" in both.message


def test_two_variants_are_compared_from_programs_and_from_saved_spreads(tmp_path: Path) -> None:
    program = """
        import sys
        import numpy as np, tinynet, twinrun
        tinynet.Line(2).train_step(np.ones((1, 2)), np.ones(1))
        twinrun.probe("score", np.random.normal(float(sys.argv[1]), 1.0))
    """
    write(tmp_path, program)
    saved = tmp_path / "far.json"
    words = ("--seeds=4", "--quiet", "--output-format=json")
    twinrun("spread", *words, f"--output-file={saved}", "train.py", "100", cwd=tmp_path)
    answer = twinrun("spread", *words, "--compare", "-m train 0.0", saved, cwd=tmp_path)
    assert answer.code == 0, answer.err
    score = next(metric for metric in answer.document["metrics"] if metric["name"] == "score")
    assert score["difference"] == pytest.approx(100)  # of the same seeds
    assert answer.document["variants"] == ["-m train 0.0", str(saved)]
    assert answer.document["a"]["runs"][0]["metrics"]["score"] < 50
    (tmp_path / "compared.json").write_text(answer.out)
    shown = twinrun("report", tmp_path / "compared.json")
    assert shown.code == 0 and shown.out.startswith("A: -m train 0.0 (4 runs with different seeds)")


def test_what_is_not_the_seeds_alone(tmp_path: Path) -> None:
    """With the seeds fixed and nothing else, a number that comes from none of them moves, and what follows from them does not."""
    program = write(
        tmp_path,
        PROGRAM + "    twinrun.probe('entropy', float(int.from_bytes(__import__('os').urandom(4), 'big')))\n",
    )
    words = ("spread", "--implementation-only", "--seeds=3", "--output-format=json")
    answer = twinrun(*words, program, cwd=tmp_path)
    assert answer.code == 0, answer.err
    document = answer.document
    assert [(run["source"], run["seed"]) for run in document["runs"]] == [("implementation", 42)] * 3
    moved = {m["name"] for m in document["metrics"] if m["sources"]["implementation"]["sd"]}
    assert moved == {"entropy"}, document["metrics"]


def test_runs_are_not_reused_once_a_file_that_the_program_imports_has_changed(tmp_path: Path) -> None:
    write(tmp_path, "RATE = 1.0\n", "settings_of_mine.py")
    program = write(tmp_path, "import settings_of_mine\n" + textwrap.dedent(PROGRAM))
    saved = tmp_path / "spread.json"
    words = ("spread", "--seeds=2", "--output-format=json", f"--output-file={saved}")
    assert twinrun(*words, program, cwd=tmp_path).code == 0
    words += (f"--reuse={saved}", program)
    assert twinrun(*words, cwd=tmp_path).code == 0
    write(tmp_path, "RATE = 2.0\n", "settings_of_mine.py")
    answer = twinrun(*words, cwd=tmp_path)
    assert answer.code == 2 and "another version of its files" in answer.message


def test_the_numbers_of_a_process_that_the_program_starts(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM, "worker.py")
    program = write(
        tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, 'worker.py'], check=True)\n"
    )
    answer = twinrun("spread", program, "--seeds=2", "--output-format=json", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert {metric["name"] for metric in answer.document["metrics"]} >= {"weight", "number"}
    assert "the numbers are those of a process that the program starts: worker.py" in answer.document["notes"]


def test_interrupted_it_reports_what_it_has(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    command = start("spread", "--seeds=500", "--output-format=json", program, cwd=tmp_path)
    assert command.stderr is not None
    for line in command.stderr:
        if line.startswith("seed, run"):
            break
    interrupt(command)
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 130
    document = json.loads(out)
    assert document["interrupted"] == "interrupted by SIGINT"
    assert 2 <= sum(run["source"] == "seed" for run in document["runs"]) < 500


def test_killed_it_leaves_the_runs_that_had_ended_and_goes_on_from_them(tmp_path: Path) -> None:
    """The result of an earlier spread is its own input and output."""
    program, saved = write(tmp_path, PROGRAM), tmp_path / "spread.json"
    words = ("--output-format=json", f"--output-file={saved}", program)
    command = start("spread", "--seeds=500", *words, cwd=tmp_path)
    assert command.stderr is not None
    ended = [line for line in itertools.islice(command.stderr, 5) if line.startswith("seed, run")]
    command.kill()
    command.communicate(timeout=60)
    document = json.loads(saved.read_text())
    runs = document["runs"]
    assert document["interrupted"] == "not finished" and len(ended) <= len(runs) < 500
    answer = twinrun("spread", f"--reuse={saved}", f"--seeds={len(runs)}", *words, cwd=tmp_path)
    document = json.loads(saved.read_text())
    assert answer.code == 0 and document["interrupted"] is None
    assert len(document["runs"]) == len(runs) + 1 and all(run in document["runs"] for run in runs)


def test_what_cannot_be_measured_is_an_error_that_says_why(tmp_path: Path) -> None:
    crash = write(tmp_path, "raise SystemExit('no data here')", "crash.py")
    answer = twinrun("spread", crash, cwd=tmp_path)
    assert answer.code == 2 and "the first run failed" in answer.message and "no data here" in answer.err
    silent = write(tmp_path, "print(1)", "silent.py")
    answer = twinrun("spread", silent, cwd=tmp_path)
    assert answer.code == 2 and "no training step was observed" in answer.message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train.py", "--sources=luck"), "unknown source 'luck'"),
        (("--implementation-only", "--sources=data", "train.py"), "varies no seed"),
        (("--compare", "a.json"), "--compare takes two variants"),
        (("--compare", "a.json", "b.json"), "no such result: a.json"),
        (("nothing.py",), "no such program: nothing.py"),
        (("--seeds=1", "train.py"), "seeds must be at least 2"),
    ],
)
def test_a_wrong_option_is_an_error_before_anything_runs(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    write(tmp_path, PROGRAM)
    answer = twinrun("spread", *words, cwd=tmp_path)
    assert answer.code == 2 and message in answer.message


def test_without_scipy_the_hint_says_what_to_install(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    write(tmp_path, "raise ImportError", "scipy.py")
    answer = twinrun("spread", "train.py", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert answer.code == 2 and "twinrun[spread]" in answer.message
