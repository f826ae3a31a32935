"""The file of a baseline: small, readable, and never trusted when something in it was changed."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from baseline_runs import frames, observed
from hypothesis import given, settings
from hypothesis import strategies as st

from twinrun.baselines.baseline import Baseline, as_text, baseline_of, from_text
from twinrun.baselines.kept_run import MOST_ROWS, kept_steps, samples_of
from twinrun.errors import BadBaseline
from twinrun.recording.manifest import checksum


def made(steps: int = 8, **options: object) -> Baseline:
    history = ({"when": "2026-01-01T00:00:00Z", "reason": "better"},)
    return baseline_of(
        "mnist", "bitwise", observed(frames(steps), **options), "2026-01-02T00:00:00Z", history
    )


def same(a: Baseline, b: Baseline) -> bool:
    return as_text(a) == as_text(b)


def test_a_baseline_survives_being_written_and_read() -> None:
    baseline = made(arguments=("--epochs", "3"), steps=8, pin="7")
    again = from_text(as_text(baseline), "here")
    assert again == baseline


def test_values_of_tensors_and_numbers_that_are_not_finite_survive_too() -> None:
    import ml_dtypes

    samples = {
        ("final", "kernel"): np.array([1.5, -0.0, np.inf], np.float32),
        ("final", "half"): np.array([1.5], ml_dtypes.bfloat16),
        ("final", "count"): np.array([3], np.int64),
    }
    baseline = made(samples=samples_of(samples))
    baseline.metrics["loss"] = float("nan")
    again = from_text(as_text(baseline), "here")
    assert same(again, baseline)
    kept = {(each.phase, each.name): each.array() for each in again.samples}
    for where, values in samples.items():
        assert kept[where].dtype == values.dtype
        assert kept[where].tobytes() == values.tobytes()
    assert np.isnan(again.metrics["loss"])


def test_a_file_is_a_few_kilobytes_however_long_the_run() -> None:
    assert len(as_text(made(8))) < 4_000
    assert len(as_text(made(20_000))) < 25_000


def test_one_line_is_one_step() -> None:
    lines = as_text(made(8)).splitlines()
    start = lines.index(' "rows": [')
    assert all(line.strip().startswith(f"[{seq}, ") for seq, line in enumerate(lines[start + 1 : start + 10]))


@given(st.integers(1, 50_000))
def test_the_first_and_last_steps_are_always_kept(count: int) -> None:
    kept = kept_steps(count)
    assert kept[0] == 0 and kept[-1] == count - 1
    assert kept == sorted(set(kept)) and len(kept) <= MOST_ROWS + 1


@settings(max_examples=300)
@given(st.integers(0, 10**9), st.sampled_from(["flip", "cut", "drop", "double"]))
def test_a_damaged_file_is_never_read_as_another_baseline(seed: int, how: str) -> None:
    text = as_text(made())
    place = random.Random(seed).randrange(len(text))
    if how == "flip":
        damaged = text[:place] + chr((ord(text[place]) + 1) % 128) + text[place + 1 :]
    elif how == "cut":
        damaged = text[:place]
    elif how == "drop":
        damaged = text[:place] + text[place + 1 :]
    else:
        damaged = text[:place] + text[place] + text[place:]
    try:
        read = from_text(damaged, "here")
    except BadBaseline:
        return
    assert same(read, made()), "only a change of blanks may be accepted"


@given(st.integers(97, 50_000), st.integers(97, 50_000))
def test_runs_of_different_lengths_keep_the_same_steps_up_to_the_end_of_the_shorter(a: int, b: int) -> None:
    short, long = sorted((a, b))
    kept = {*kept_steps(long)} - {long - 1}
    assert {seq for seq in kept if seq < short} <= {*kept_steps(short)}


@pytest.mark.parametrize("field", ["contract", "metrics", "rows", "environment", "frames", "history"])
def test_an_edit_by_hand_is_named(field: str) -> None:
    document = json.loads(as_text(made()))
    document[field] = {"contract": "band=loss:99", "frames": 3}.get(field) or type(document[field])()
    with pytest.raises(BadBaseline, match="edited by hand, merged, or damaged"):
        from_text(json.dumps(document), "here")


@pytest.mark.parametrize("field", ["rows", "layouts", "environment", "metrics", "frames", "samples"])
def test_a_file_with_a_right_checksum_and_wrong_content_is_named_too(field: str) -> None:
    document = json.loads(as_text(made()))
    document[field] = "nonsense"
    document["checksum"] = checksum(document)
    with pytest.raises(BadBaseline, match="cannot be used"):
        from_text(json.dumps(document), "here")


@pytest.mark.parametrize(
    ("place", "value"), [(3, 99), (3, 1), (5, "00"), (5, "no hexadecimal"), (6, [[77, 1.0]]), (1, "one")]
)
def test_a_step_that_does_not_fit_its_layout_is_named_too(place: int, value: object) -> None:
    document = json.loads(as_text(made()))
    document["rows"][0][place] = value
    document["checksum"] = checksum(document)
    with pytest.raises(BadBaseline, match="cannot be used"):
        from_text(json.dumps(document), "here")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"schema": "twinrun/baseline/9"}', "\x00" * 50]
)
def test_what_is_no_baseline_is_named(text: str) -> None:
    with pytest.raises(BadBaseline, match=r"twinrun-baselines/mnist/x\.json"):
        from_text(text, "twinrun-baselines/mnist/x.json")


def test_a_merge_conflict_is_named() -> None:
    text = as_text(made())
    with pytest.raises(BadBaseline):
        from_text(f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n", "here")
