"""`--workers 1,2,4`: what a run keeps when the number of workers changes. With a framework that starts at once; the slow
tests have TensorFlow's strategies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategy_programs import DATA, LOOP, MODEL, WORKERS, program

from support import PLAIN, Answer, check, twinrun, write
from twinrun.comparison.contract import BITWISE, parse_contract
from twinrun.errors import UsageError
from twinrun.launch.cluster_recording import Tensor
from twinrun.launch.kept_quantities import Comparison
from twinrun.launch.program import Program
from twinrun.settings import check_options

NEAR = ("--contract", "rtol=1e-4,atol=1e-6")
EQUAL = ("seeds", "initial weights", "global batches")
KEPT = ("steps", "global batch size", "learning rate")

# Global batches of four elements, which are all different. The mean over each half of a batch is that over all of it, so
# two workers that share it train as one does, but for rounding.
BATCHES = (
    """
import json, os, sys, time
from threading import Thread
cluster = json.loads(os.environ["TF_CONFIG"])
me, count = cluster["task"]["index"], len(cluster["cluster"]["worker"])
"""
    + PLAIN
    + """
def train_on(numbers):
    model.train_step(np.ones((len(numbers), 2), "f"), np.array(numbers, "f"))
"""
)
SHARED = "for step in range(3):\n    train_on([[1, 4], [2, 3]][me] if count > 1 else [1, 4, 2, 3])\n"


@pytest.fixture
def run(tmp_path: Path, tinynet: None) -> Any:
    def with_counts(text: str, *options: str, counts: str = "1,2") -> Answer:
        return check(write(tmp_path, BATCHES + text), "--workers", counts, *options)

    return with_counts


def outcomes(document: dict[str, Any], number: int = 1) -> dict[str, str]:
    return {kept["name"]: kept["outcome"] for kept in document["worker_counts"][number]["quantities"]}


def notes(document: dict[str, Any], number: int = 1) -> dict[str, str]:
    return {kept["name"]: kept["note"] for kept in document["worker_counts"][number]["quantities"]}


def test_two_workers_that_share_a_batch_train_as_one(run: Any, tmp_path: Path) -> None:
    answer = run(SHARED, *NEAR)
    document = answer.document
    assert (answer.code, document["verdict"]) == (0, "repeats"), document
    assert [(each["workers"], each["steps"]) for each in document["worker_counts"]] == [(1, 3), (2, 3)]
    kept = outcomes(document)
    assert [kept[name] for name in EQUAL] == ["equal"] * len(EQUAL)
    assert (kept["steps"], kept["global batch size"]) == ("kept", "kept")
    assert kept["weights"] in ("equal", "within") and kept["loss"] in ("equal", "within")
    assert kept["learning rate"] == "unknown"  # of which nothing was seen, nothing is said
    assert notes(document)["global batch size"] == "4"
    assert any("ran once" in note for note in document["notes"])
    saved = tmp_path / "result.json"
    saved.write_text(answer.out)
    shown = twinrun("report", saved).out
    assert "loss (averaged over the workers): " in shown
    assert (
        "with 1 and 2 workers, one run of each, 3 steps: initial weights, global batches and weights" in shown
    )
    assert "global batches (as sets of elements): equal bit for bit" in shown


def test_a_batch_that_grows_with_the_workers(run: Any) -> None:
    grows = "np.random.seed(1 + me)\nfor step in range(4 // count):\n    train_on(np.arange(4) + 4 * (step * count + me))\n"
    answer = run(grows, *NEAR)
    document = answer.document
    assert (answer.code, document["verdict"], document["reason_kind"]) == (1, "diverges", "worker-count"), (
        document
    )
    assert "the steps are not as with 1 worker (1 worker: 4; 2 workers: 2)" in document["reason"]
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["message"]) == ("TW601", False, document["reason"])
    kept = outcomes(document)
    assert (kept["initial weights"], kept["global batches"], kept["weights"]) == (
        "equal",
        "different",
        "different",
    )
    assert (kept["steps"], kept["global batch size"]) == ("changed", "changed")
    assert notes(document)["global batch size"] == "1 worker: 4; 2 workers: 8"
    assert kept["seeds"] == "different" and notes(document)["seeds"].startswith("worker 1: ")


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("if me: sys.exit(3)\n", "crashed", "with 2 workers: worker 1 ended with exit code 3"),
        (
            "if me: Thread(target=os._exit, args=(0,)).start(), time.sleep(60)\n",
            "abrupt-exit",
            "with 2 workers: worker 1 did not end properly",
        ),
    ],
)
def test_a_run_that_fails_leaves_the_question_open(run: Any, text: str, kind: str, reason: str) -> None:
    answer = run(SHARED + text)
    document = answer.document
    assert (answer.code, document["verdict"], document["reason_kind"]) == (2, "undecided", kind), document
    assert document["reason"].startswith(reason) and not document["worker_counts"]


def test_what_has_no_meaning_here_is_refused() -> None:
    for given in ({"runs": 3}, {"vary": "threads"}, {"sequential": True}, {"contract": "band=loss:1"}):
        with pytest.raises(UsageError):
            check_options(Program("train.py"), workers="1,2", **given)
        check_options(Program("train.py"), workers="2", **given)
    for workers in ("2,2", "1,,2", "0,1", "1;2", "129", "1,99999"):
        with pytest.raises(UsageError):
            check_options(Program("train.py"), workers=workers)
    assert check_options(Program("train.py"), workers=(1, 2, 4)).worker_counts == (1, 2, 4)
    assert check_options(Program("train.py"), workers=2).workers == 2


def tensor(value: float | None) -> Tensor:
    """With a digest alone, unless a test adds values."""
    return Tensor(("h", str(value).encode()), Path("nowhere"), 0, ("weights", "w"))


def test_a_quantity_is_known_by_its_bits_by_its_values_or_not_at_all() -> None:
    near = parse_contract("atol=0.1")
    a, b = np.array([1.0, 2.0], "f"), np.array([1.0, 2.05], "f")
    for contract, other, outcome in (
        (near, a, "equal"),
        (near, b, "within"),
        (near, a + 1, "different"),
        (BITWISE, b, "different"),
    ):
        found = Comparison("weights", contract, judged=True)
        found.add_values(1, "w", a, a)
        found.add_values(2, "w", a, other)
        kept = found.quantity()
        assert (kept.outcome, kept.step) == (outcome, None if outcome == "equal" else 2)
    assert kept.max_abs == pytest.approx(0.05, rel=1e-5)
    for contract, one, other, outcome in (
        (near, tensor(1), tensor(1), "equal"),
        (near, tensor(1), tensor(2), "unknown"),  # the values were not kept
        (BITWISE, tensor(1), tensor(2), "different"),
        (near, tensor(1), None, "different"),
    ):
        found = Comparison("weights", contract, judged=True)
        found.add(1, "w", one, other)
        assert found.quantity().outcome == outcome
    assert Comparison("weights", near, judged=True).quantity().outcome == "unknown"


PIPELINE = """
import twinrun
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(32)
noisy = rows.map(lambda a, b: (a + 0.1 * tf.random.normal([4]), b), num_parallel_calls=2, deterministic=False)
batches = twinrun.repeatable(noisy.batch(8), seed=7)
"""


def same_with_all_counts(document: dict[str, Any], steps: int) -> None:
    assert document["verdict"] == "repeats", document
    assert {each["steps"] for each in document["worker_counts"]} == {steps}
    for number in range(1, len(document["worker_counts"])):
        kept = outcomes(document, number)
        assert [kept[name] for name in (*EQUAL, *KEPT)] == ["equal"] * 3 + ["kept"] * 3, document
        assert [notes(document, number)[name] for name in KEPT] == [str(steps), "8", "0.1"]
        assert kept["weights"] in ("equal", "within") and kept["loss"] in ("equal", "within"), document


@pytest.mark.slow
def test_a_shared_pipeline_gives_1_2_and_4_workers_the_same_global_batches(tmp_path: Path) -> None:
    shared = LOOP.replace(
        LOOP[LOOP.index("    whole =") : LOOP.index("def step")],
        "    return twinrun.pipelines.share(batches, context.input_pipeline_id, context.num_input_pipelines)\n",
    )
    path = program(tmp_path, DATA, WORKERS, PIPELINE, MODEL, shared)
    same_with_all_counts(check(path, "--workers", "1,2,4", *NEAR, timeout=400).document, steps=4)


@pytest.mark.slow
def test_fit_gives_1_and_2_workers_the_same_global_batches(tmp_path: Path) -> None:
    fit = "model.fit(batches, epochs=2, verbose=2)\n"
    path = program(tmp_path, DATA, WORKERS, PIPELINE, MODEL, fit, keras="tf_keras")
    same_with_all_counts(check(path, "--workers", "1,2", *NEAR, timeout=400).document, steps=8)
