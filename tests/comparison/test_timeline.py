"""The timeline of a comparison: nothing that differs is lost in it, nothing that was not seen is in it, and its size does
not grow with the run."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from twinrun.comparison.elements import Elements
from twinrun.comparison.frames import Distance
from twinrun.comparison.tensors import Gap
from twinrun.comparison.timeline import MOST_COLUMNS, Curve, Grid, Row, TensorGrowth, Timeline
from twinrun.comparison.tracking import Mark, Tracker
from twinrun.recording.frame import Frame, Layout

LAYOUT = Layout(("batch", "loss", "weights", "weights"), ("x", "loss", "net/dense/kernel", "net/dense/bias"))
KERNEL = ("weights", "net/dense/kernel")


def frame(step: int, loss: float = 1.0, *, span: int = 1, layout: Layout = LAYOUT) -> Frame:
    return Frame(step, span, layout, bytes(8 * len(layout)), ((1, loss),) if layout is LAYOUT else ())


def apart(gap: float) -> Mark:
    return Mark(False, Distance(differing=0.5, differing_count=1, size=2, max_ulp=7, max_abs=gap))


def tracked(tracker: Tracker) -> Timeline:
    timeline = tracker.timeline()
    assert timeline is not None
    again: Timeline = msgspec.convert(msgspec.to_builtins(timeline), Timeline)  # it is read back as it is
    assert again == timeline
    return timeline


def rows(grid: Grid) -> dict[str, str]:
    return {row.name or row.phase: row.states for row in grid.rows}


def test_a_short_run_has_a_column_for_each_step() -> None:
    tracker = Tracker("AB")
    tracker.add([frame(0, layout=Layout(("init",), ("net/dense/kernel",)))] * 2)
    for step in range(1, 9):
        marks = {KERNEL: apart(1e-7 * step)} if step >= 5 else {}
        tracker.add([frame(step), frame(step, 1.5 if step > 5 else 1.0)], marks)
    seen = tracked(tracker)
    assert rows(seen.phases) == {
        "init": "=........",
        "batch": ".========",
        "loss": ".========",
        "weights": ".====xxxx",
    }
    assert (seen.layers.start, rows(seen.layers)["net/dense"]) == (
        5,
        "=xxxx",
    )  # all that was equal is one column
    (kernel,) = seen.tensors
    assert (kernel.tensor, kernel.steps, kernel.max_abs[0], kernel.max_ulp) == (
        KERNEL[1],
        (5, 6, 7, 8),
        5e-7,
        (7,) * 4,
    )
    (loss,) = seen.curves
    assert loss.values == ((1.0,) * 8, (1.0,) * 5 + (1.5,) * 3)


def test_a_tensor_that_is_equal_again_is_drawn_as_that() -> None:
    tracker = Tracker("AB")
    for step in range(1, 4):
        tracker.add([frame(step)] * 2, {KERNEL: apart(0.5)} if step != 2 else {})
    (kernel,) = tracked(tracker).tensors
    assert (kernel.max_abs, kernel.differing) == ((0.5, 0.0, 0.5), (0.5, 0.0, 0.5))


def test_what_is_within_the_contract_is_told_from_what_is_not() -> None:
    tracker = Tracker("AB")
    tracker.add([frame(1)] * 2, {KERNEL: Mark(True), ("weights", "net/dense/bias"): Mark(False)})
    tracker.add([frame(2)] * 2, {KERNEL: Mark(True)})
    seen = tracked(tracker)
    assert rows(seen.phases)["weights"] == ".x~" and rows(seen.layers)["net/dense"] == ".x~"
    assert seen.unmeasured == 2 and seen.tensors == ()


def test_what_was_equal_earlier_in_the_step_that_differs_is_seen_in_it() -> None:
    tracker = Tracker("AB")
    results = Layout(("metric",), ("evaluate/loss",))
    tracker.add([frame(1)] * 2)
    tracker.add([frame(1, span=0, layout=results)] * 2, {("metric", "evaluate/loss"): Mark(False)})
    assert rows(tracked(tracker).layers)["net/dense"] == "=="
    assert rows(tracked(tracker).layers)["evaluate/loss"] == ".x"


def test_of_a_step_that_is_rolled_up_the_phases_are_known() -> None:
    tracker = Tracker("AB")
    tracker.add([frame(1)] * 2)
    tracker.add_phases([frame(2), frame(2, 3.0)], ["weights"])
    seen = tracked(tracker)
    assert rows(seen.phases) == {"batch": ".==", "loss": ".==", "weights": ".=x"}
    assert seen.layers.columns == 2 and seen.curves[0].values == ((1.0, 1.0), (1.0, 3.0))


def test_twins_that_are_not_at_the_same_step_are_not_drawn() -> None:
    tracker = Tracker("AB")
    tracker.add([frame(1), frame(2)])
    assert tracker.timeline() is None


@given(st.integers(1, 3000), st.sets(st.integers(1, 3000), max_size=5), st.sampled_from([1, 8, 10]))
@settings(max_examples=30)
def test_no_difference_is_lost_however_long_the_run(last: int, differing: set[int], span: int) -> None:
    tracker = Tracker("AB")
    steps = range(span, last + 1, span)
    for step in steps:
        tracker.add([frame(step, span=span)] * 2, {KERNEL: apart(step)} if step in differing else {})
    if not steps:
        return
    seen = tracked(tracker)
    found = [step for step in differing if step in steps]
    for grid, states in (
        (seen.phases, rows(seen.phases)["weights"]),
        (seen.layers, rows(seen.layers)["net/dense"]),
    ):
        assert len(states) <= MOST_COLUMNS + 1 and grid.width >= span
        columns = {0 if step < grid.start else 1 + (step - grid.start) // grid.width for step in found}
        assert {column for column, state in enumerate(states) if state == "x"} == columns
        assert "." not in states[1:]  # every column holds a step that was compared
    (curve,) = seen.curves
    assert len(curve.steps) <= MOST_COLUMNS and set(curve.steps) <= set(steps)
    assert (curve.steps[0], curve.steps[-1]) == (steps[0], steps[-1])
    peaks = [growth.max_abs for growth in seen.tensors]
    assert [max(filter(None, peak)) for peak in peaks] == ([max(found)] if found else [])


@given(st.lists(st.tuples(st.integers(-5, 2**40), st.integers(-5, 2**40), st.booleans()), max_size=20))
def test_no_recording_of_a_stranger_is_too_strange(steps: list[tuple[int, int, bool]]) -> None:
    tracker = Tracker("AB")
    for step, span, differs in steps:
        tracker.add([frame(step, span=span)] * 2, {KERNEL: apart(1.0)} if differs else {})
        tracker.add_phases([frame(step, span=span)] * 2, ["weights"] if differs else [])
    if steps:
        tracked(tracker)


def test_a_peak_of_a_curve_does_not_vanish() -> None:
    tracker = Tracker("AB")
    for step in range(1, 20_001):
        tracker.add([frame(step), frame(step, 9.0 if step == 17_777 else math.nan if step == 5 else 1.0)])
    seen = tracked(tracker)
    (curve,) = seen.curves
    assert curve.values[1][curve.steps.index(17_777)] == 9.0
    assert curve.values[1][curve.steps.index(5)] is None
    assert len(curve.steps) <= MOST_COLUMNS and seen.phases.width == 128


def test_a_large_model_is_shown_by_its_blocks() -> None:
    names = [
        f"net/block_{block}/{part}/{kind}" for block in range(100) for part in "qkvo" for kind in ("w", "b")
    ]
    layout = Layout(("weights",) * len(names), tuple(names))
    tracker = Tracker("AB")
    tracker.add([frame(1, layout=layout)] * 2, {("weights", names[-1]): apart(1.0)})
    grid = tracked(tracker).layers
    assert [row.name for row in grid.rows] == [f"net/block_{block}" for block in range(100)]
    assert {row.tensors for row in grid.rows} == {8}
    assert [row.name for row in grid.rows if "x" in row.states] == ["net/block_99"]


def test_many_layers_of_a_flat_model_share_rows() -> None:
    names = [f"weight_{number}" for number in range(2000)]
    tracker = Tracker("AB")
    tracker.add(
        [frame(1, layout=Layout(("weights",) * 2000, tuple(names)))] * 2,
        {("weights", "weight_1999"): apart(1.0)},
    )
    grid = tracked(tracker).layers
    assert len(grid.rows) <= 160 and sum(row.tensors for row in grid.rows) == 2000
    assert grid.rows[0].name == "weight_0 … weight_12"
    assert [row.name for row in grid.rows if "x" in row.states] == ["weight_1989 … weight_1999"]


def test_only_so_many_tensors_are_measured() -> None:
    names = tuple(f"weight_{number}" for number in range(100))
    keys = [("weights", name) for name in names]
    tracker = Tracker("AB")
    assert tracker.wanted(keys) == keys[:32]
    tracker.add([frame(1, layout=Layout(("weights",) * 100, names))] * 2, {key: apart(1.0) for key in keys})
    assert tracker.wanted(keys[30:40]) == keys[30:32]
    seen = tracked(tracker)
    assert len(seen.tensors) == 32 and seen.unmeasured == 68


@pytest.mark.parametrize(
    "damaged",
    [
        lambda: Grid(1, 0),
        lambda: Grid(1, 1, (Row("loss", "=="), Row("weights", "="))),
        lambda: Grid(1, 1, (Row("loss", "=?"),)),
        lambda: Grid(1, 1, (Row("loss", "="*300),)),
        lambda: Curve("loss", "loss", (1, 2), ((1.0,),)),
        lambda: Curve("loss", "loss", (2, 2), ((1.0, 1.0),)),
        lambda: TensorGrowth("weights", "w", (1,), (1,), (1.0, 2.0), (1.0,)),
        lambda: Elements((2,), 0, ("9", "90"), ((0, 0),)),
        lambda: Elements((2,), 0, ("9x",), ((0, 0),)),
        lambda: Elements((2,), 0, (), ((0, 0),)),
        lambda: Elements((2, 2), 0, ("90",), ((0, 0),)),
    ],
)  # fmt: skip
def test_a_timeline_that_does_not_hold_together_is_refused(damaged: object) -> None:
    assert callable(damaged)
    with pytest.raises(ValueError):
        damaged()


# where elements differ

SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=40).filter(
    lambda shape: math.prod(shape) < 20_000
)


@given(SHAPES, st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.5, 1.0]), st.integers(1, 5))
@settings(max_examples=40)
def test_every_element_that_differs_is_in_its_cell(
    shape: tuple[int, ...], seed: int, share: float, pieces: int
) -> None:
    size = math.prod(shape)
    a = np.zeros(size, np.float32)
    b = a.copy()
    b[np.random.default_rng(seed).random(size) < share] = 1.0
    gap = Gap(shape, where=True)
    for number in range(pieces):
        start, stop = number * size // pieces, (number + 1) * size // pieces
        gap.add(a[start:stop], b[start:stop], start)
    found = gap.distance().elements
    differing = np.argwhere(b.reshape(shape) != 0)
    if size < 2 or not len(differing):
        assert found is None
        return
    assert found is not None
    assert found.between == tuple(zip(differing.min(0).tolist(), differing.max(0).tolist(), strict=True))
    down, across = found.sides
    folded = b.reshape(down, across)
    rows, columns = len(found.rows), len(found.rows[0])
    for y, row in enumerate(found.rows):
        for x, digit in enumerate(row):
            ys, xs = (
                np.arange(n)[np.arange(n) * cells // n == at]
                for n, cells, at in ((down, rows, y), (across, columns, x))
            )
            cell = folded[np.ix_(ys, xs)]
            assert (digit == "0") == (not cell.any()) and (digit == "9") == bool(cell.all())
            if digit not in "09":
                assert int(digit) == math.ceil(8 * float(cell.mean()))


def test_a_batch_is_folded_by_example_and_a_kernel_by_channel() -> None:
    for shape, split in (((32, 28, 28, 1), 1), ((3, 3, 64, 128), 3), ((784, 128), 1), ((10,), 0)):
        gap = Gap(shape, where=True)
        gap.add(np.zeros(4, np.float32), np.ones(4, np.float32))
        found = gap.distance().elements
        assert found is not None and found.split == split


def test_half_of_a_cell_is_four_eighths() -> None:
    gap = Gap((128,), where=True)  # two elements in each cell
    gap.add(np.zeros(4, np.float32), np.array([1, 0, 1, 1], np.float32))
    found = gap.distance().elements
    assert found is not None and found.rows[0].startswith("490")
