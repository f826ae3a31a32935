"""From the digests of batches: which data was fed, and in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinrun.recording.data_order import describe, recorded_data
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.reader import Reader
from twinrun.recording.store import Writer

STEP = Layout(("batch", "batch", "weights"), ("x", "y", "kernel"))
EPOCH = Layout(("weights", "metric"), ("kernel", "epoch/loss"))
Epochs = list[list[int]]


def recorded(folder: Path, epochs: Epochs, kinds: str = "") -> Reader:
    """A recording of a run that was fed these batches; its weights are other ones in every step. `kinds` are those of its
    digests."""
    folder.mkdir(parents=True)
    writer, step = Writer(folder), 0
    of_step = replace(STEP, kinds=kinds)
    for epoch in epochs:
        for batch in epoch:
            step += 1
            writer.write(Frame(step, 1, of_step, pack([batch, batch + 1, step])))
        writer.write(Frame(step, 0, EPOCH, pack([step, step])))
    writer.close()
    return Reader(folder)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([[1, 2], [3]], [[1, 2], [3]], "the data was the same, in the same order: 3 batches"),
        ([[1, 2, 3]], [[1, 3, 2]], "the same 3 batches were fed in another order, from batch 2 on"),
        ([[1, 2, 3]], [[1, 2, 4]], "other batches were fed, from batch 3 on"),
        ([[1, 1, 2]], [[1, 2, 2]], "other batches were fed, from batch 2 on"),
        ([[1, 2, 3]], [[1, 2]], "the first 2 batches were the same, in the same order; A saw 3, B 2"),
        ([], [], None),
    ],
)
def test_the_data_of_two_recordings_is_told_apart(tmp_path: Path, a: Epochs, b: Epochs, said: str) -> None:
    readers = recorded(tmp_path / "a", a), recorded(tmp_path / "b", b)
    assert describe(*readers) == said
    if a == b:
        assert describe(*readers, equal=True) == said


def test_where_only_weights_were_digested_on_a_gpu_the_data_is_compared(tmp_path: Path) -> None:
    readers = recorded(tmp_path / "a", [[1, 2, 3]]), recorded(tmp_path / "b", [[1, 3, 2]], kinds="hhd")
    assert describe(*readers) == "the same 3 batches were fed in another order, from batch 2 on"


def test_nothing_is_said_of_data_that_was_digested_on_a_gpu_in_one_run_only(tmp_path: Path) -> None:
    plain, device = recorded(tmp_path / "a", [[1, 2]]), recorded(tmp_path / "b", [[1, 2]], kinds="dhd")
    assert describe(plain, device) is None
    assert describe(device, recorded(tmp_path / "c", [[2, 1]], kinds="dhd")) is not None


def test_epochs_are_told_one_by_one(tmp_path: Path) -> None:
    data = recorded_data(recorded(tmp_path / "a", [[1, 2, 3], [3, 1, 2], [1, 2]]))
    first, second, third = data.epochs
    assert first.unordered == second.unordered != third.unordered
    assert first.ordered != second.ordered
    assert [epoch.batches for epoch in data.epochs] == [3, 3, 2]
    assert data.whole.batches == 8


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9), max_size=12), st.randoms(use_true_random=False))
def test_another_order_changes_the_ordered_digest_only(
    tmp_path_factory: pytest.TempPathFactory, batches: list[int], chance: object
) -> None:
    shuffled = list(batches)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    folder = tmp_path_factory.mktemp("runs")
    one, other = (
        recorded_data(recorded(folder / name, [of])) for name, of in (("a", batches), ("b", shuffled))
    )
    assert one.whole.unordered == other.whole.unordered
    assert (one.whole.ordered == other.whole.ordered) == (batches == shuffled)
