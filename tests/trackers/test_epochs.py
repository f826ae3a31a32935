"""Two runs compared by the digests of their epochs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support import twinrun
from twinrun.trackers.epoch_files import LAST, Epoch
from twinrun.trackers.epochs import EpochsResult, compare_epochs

NAMES = ("dense/kernel", "dense/bias", "adam/iteration")


def epochs(*digests: str, names: Sequence[str] = NAMES, first: int = 0, **metrics: str) -> dict[int, Epoch]:
    """An epoch for each text, whose letters are the digests of the variables."""
    return {
        first + at: Epoch(first + at, tuple(zip(names, each, strict=False)), metrics)
        for at, each in enumerate(digests)
    }


def compared(a: dict[int, Epoch], b: dict[int, Epoch]) -> EpochsResult:
    return compare_epochs(("a", "b"), a, b)


def test_equal_runs_repeat() -> None:
    result = compared(epochs("abc", "def"), epochs("abc", "def"))
    assert (result.verdict, result.equal_after, result.variables) == ("repeats", (0, 1), 3)


def test_the_first_epoch_and_the_first_variable_are_named() -> None:
    result = compared(epochs("abc", "def", "ghi"), epochs("abc", "dEF", "GHI"))
    first = result.first_difference
    assert result.verdict == "diverges" and first is not None
    assert (first.epoch, first.kind, first.name, first.others) == (1, "variable", "dense/bias", 1)
    assert result.equal_after == (0,)


def test_order_and_names_may_be_those_of_another_process() -> None:
    turned = {0: Epoch(0, tuple(zip(NAMES[::-1], "cba", strict=True)))}
    assert compared(epochs("abc"), turned).verdict == "repeats"
    renamed = compared(
        epochs("abc"), epochs("aBc", names=("dense_1/kernel", "dense_1/bias", "adam/iteration"))
    )
    assert renamed.first_difference is not None and renamed.first_difference.name == "dense/bias"
    assert "in the order of the models" in renamed.notes[0]


def test_a_metric_counts_where_no_variable_differs() -> None:
    result = compared(epochs("abc", loss="0.5"), epochs("abc", loss="0.25"))
    first = result.first_difference
    assert result.verdict == "diverges" and first is not None
    assert (first.kind, first.name, first.a, first.b) == ("metric", "loss", "0.5", "0.25")


@pytest.mark.parametrize(
    ("a", "b", "label", "said"),
    [
        (epochs("abc", "def"), epochs("abc"), "undecided[uneven]", "both runs have (0); a alone has 1"),
        (epochs("abc"), epochs("abc", first=4), "undecided[not-comparable]", "no epoch is in both"),
        (epochs("abc"), epochs("ab"), "undecided[not-comparable]", "3 variables against 2"),
        (epochs(""), epochs(""), "undecided[not-comparable]", "0 variables against 0"),
    ],
)
def test_what_was_not_compared_is_not_called_equal(
    a: dict[int, Epoch], b: dict[int, Epoch], label: str, said: str
) -> None:
    result = compared(a, b)
    assert result.label == label and said in (result.reason or "")


def test_epochs_that_one_run_lacks_may_have_differed() -> None:
    b = epochs("abc", "def", "GHI")
    del b[1]
    result = compared(epochs("abc", "def", "ghi"), b)
    assert result.first_difference is not None and result.first_difference.epoch == 2
    assert result.notes == ("epoch 1 is in one of the runs only, and may differ too",)


def saved(folder: Path, found: dict[int, Epoch], last: int) -> Path:
    for epoch in found.values():
        path = folder / epoch.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(epoch.as_json())
    (folder / LAST).write_text(str(last))
    return folder


def test_diff_compares_two_folders(tmp_path: Path) -> None:
    one = saved(tmp_path / "one", epochs("abc", "def"), 1)
    other = saved(
        tmp_path / "two" / "files", epochs("abc", "dEf", "ghi"), 1
    )  # the third is of an earlier run
    answer = twinrun("diff", one, other.parent)
    assert answer.code == 1, answer.err
    assert answer.out == (
        "diverges after epoch 1: variable dense/bias differs, everything was equal before training\n"
        f"  {one}: e\n  {other.parent}: E\n"
    )
    same = twinrun("diff", "--output-format", "json", one, one)
    assert same.code == 0 and same.document["schema"] == "twinrun/epochs/1"


def test_what_cannot_be_compared_is_refused_kindly(tmp_path: Path) -> None:
    one = saved(tmp_path / "one", epochs("abc"), 0)
    (tmp_path / "empty").mkdir()
    none = twinrun("diff", one, tmp_path / "empty")
    assert none.code == 2 and "has no digests of epochs" in none.message and "EpochDigests" in none.err
    sarif = twinrun("diff", "--output-format", "sarif", one, one)
    assert sarif.code == 2 and "as text or json" in sarif.message
    (one / "twinrun" / "epochs" / "000000.json").write_text("{")
    damaged = twinrun("diff", one, one)
    assert damaged.code == 2 and "cannot be read" in damaged.message
