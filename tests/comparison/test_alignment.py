"""Frames of two twins are aligned by phase and name, and the first tensor to blame comes first."""

from __future__ import annotations

import random

from hypothesis import assume, given
from hypothesis import strategies as st

from twinrun.comparison.frames import differences, first_to_blame
from twinrun.recording.frame import EVIDENCE, PHASES, Frame, Layout, pack

entries = st.dictionaries(
    st.tuples(st.sampled_from(PHASES), st.text("abc/", min_size=1, max_size=4)),
    st.integers(0, 2**64 - 1),
    max_size=8,
)


def frame(found: dict[tuple[str, str], int], step: int = 3, span: int = 1) -> Frame:
    layout = Layout(tuple(phase for phase, _ in found), tuple(name for _, name in found))
    return Frame(step, span, layout, pack(list(found.values())))


def shuffled(found: dict[tuple[str, str], int], seed: int) -> dict[tuple[str, str], int]:
    items = list(found.items())
    random.Random(seed).shuffle(items)
    return dict(items)


@given(entries, st.integers(0, 99))
def test_another_order_of_the_same_tensors_is_no_difference(
    found: dict[tuple[str, str], int], seed: int
) -> None:
    a, b = frame(found), frame(shuffled(found, seed))
    assert differences(a, b) == []
    assert dict(a.rollup()) == dict(b.rollup())


@given(entries, entries, st.integers(0, 99))
def test_every_tensor_that_differs_is_named_and_no_other(
    a: dict[tuple[str, str], int], b: dict[tuple[str, str], int], seed: int
) -> None:
    assume(frame(a).is_end == frame(b).is_end)
    found = {
        (d.phase, d.tensor): d.only_in for d in differences(frame(a), frame(shuffled(b, seed)), ("P", "Q"))
    }
    expected: dict[tuple[str, str], str | None] = {}
    for key in {*a, *b}:
        if a.get(key) != b.get(key):
            expected[key] = "P" if key not in b else "Q" if key not in a else None
    assert found == expected


@given(entries, entries)
def test_differences_come_in_the_order_of_the_phases(
    a: dict[tuple[str, str], int], b: dict[tuple[str, str], int]
) -> None:
    ranks = [PHASES.index(d.phase) for d in differences(frame(a), frame(b))]
    assert ranks == sorted(ranks)


@given(entries, entries)
def test_the_first_to_blame_is_the_earliest_phase_that_counts(
    a: dict[tuple[str, str], int], b: dict[tuple[str, str], int]
) -> None:
    found = differences(frame(a), frame(b))
    counting = [d for d in found if d.phase not in EVIDENCE]
    blamed = first_to_blame(found)
    if not counting:
        assert blamed is None
    else:
        assert blamed is not None
        assert (blamed.phase, blamed.tensor) == (counting[0].phase, counting[0].tensor)
        assert blamed.others == len(counting) - 1


@given(entries, entries)
def test_rollups_of_a_phase_are_equal_exactly_where_its_tensors_are(
    a: dict[tuple[str, str], int], b: dict[tuple[str, str], int]
) -> None:
    rolls = dict(frame(a).rollup()), dict(frame(b).rollup())
    for phase in PHASES:
        parts = [
            {name: digest for (other, name), digest in each.items() if other == phase} for each in (a, b)
        ]
        assert (rolls[0].get(phase) == rolls[1].get(phase)) == (parts[0] == parts[1])


def test_a_stream_that_differs_is_evidence_and_not_to_blame() -> None:
    a, b = frame({("seed", "s"): 1, ("weights", "w"): 5}), frame({("seed", "s"): 2, ("weights", "w"): 5})
    assert [d.tensor for d in differences(a, b)] == ["s"]
    assert first_to_blame(differences(a, b)) is None


def test_what_one_twin_alone_went_through_is_named_and_not_compared_with_a_later_step() -> None:
    epoch, step = frame({("metric", "epoch/loss"): 1}, step=3, span=0), frame({("weights", "w"): 5}, step=4)
    for pair, names in (((epoch, step), ("A", "B")), ((step, epoch), ("B", "A"))):
        assert [(d.step, d.tensor, d.only_in) for d in differences(*pair, names)] == [(3, "epoch/loss", "A")]


def test_a_twin_that_has_ended_is_told_from_one_that_goes_on() -> None:
    end, step = frame({("final", "w"): 5}, step=3, span=0), frame({("weights", "w"): 5}, step=4)
    for pair, names in (((end, step), ("A", "B")), ((step, end), ("B", "A"))):
        (found,) = differences(*pair, names)
        assert (found.step, found.tensor, found.only_in, found.uneven) == (4, "step count", "B", True)


def test_the_same_tensors_after_another_number_of_updates_are_a_difference() -> None:
    (found,) = differences(frame({("weights", "w"): 5}, span=1), frame({("weights", "w"): 5}, span=2))
    assert found.tensor == "step count" and not found.uneven


def test_difference_in_one_twin_only_is_said_in_the_document() -> None:
    (found,) = differences(frame({("weights", "w"): 5}), frame({}), ("A", "B"))
    assert found.only_in == "A" and found.tensor == "w"
