"""`twinrun.pin` and `twinrun.pinned` inside a running process: what they can do, and what they report that they cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent.parent / "programs" / "pinning" / "inside.py"


@pytest.fixture(scope="module")
def reported() -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    # Left alone, the processor decides, and it would be too late to pin it.
    environment["TF_ENABLE_ONEDNN_OPTS"] = "1"
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        capture_output=True,
        text=True,
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def line(part: str) -> int:
    return next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if part in text)


def test_on_time_only_the_hash_seed_is_out_of_reach_and_the_launch_is_offered(
    reported: dict[str, Any],
) -> None:
    (sentence,) = reported["early"]["not_applied"]
    assert sentence.startswith("hash-seed: a running interpreter cannot change its hash seed")
    assert "twinrun run --pin=42" in sentence
    assert reported["early"]["findings"] == []


def test_what_is_missing_is_a_warning_at_the_callers_line(reported: dict[str, Any]) -> None:
    (warning,) = reported["early"]["warned"]
    assert warning == f"PinWarning {PROGRAM} {line('report = twinrun.pin(42)')}"


def test_everything_else_is_pinned_by_one_call(reported: dict[str, Any]) -> None:
    others = {
        name: by for name, by in reported["early"]["set_by"].items() if name not in ("hash-seed", "device")
    }
    others.pop("tf-keras-seed")  # not imported
    others.pop("onednn")  # decided when TensorFlow was imported, before the call
    assert set(others.values()) == {"twinrun"}


def test_draws_repeat_inside_pinned(reported: dict[str, Any]) -> None:
    first, second = reported["pinned"]["draws"]
    assert first == second


def test_pinned_puts_back_what_it_can_and_reports_what_it_cannot(reported: dict[str, Any]) -> None:
    assert reported["pinned"]["restored"]
    kept = " ".join(reported["pinned"]["kept"])
    assert "intra-op-threads: TensorFlow cannot change its threads once it has started" in kept
    assert "python-random" not in kept


def test_what_an_inner_pin_leaves_off_is_on_again_outside(reported: dict[str, Any]) -> None:
    assert reported["nested"] == {"inner": False, "outer": True}


def test_after_pinned_the_streams_go_on_where_they_were(reported: dict[str, Any]) -> None:
    assert reported["after"] == reported["expected after"]


def test_pinned_too_late_it_reports_what_came_before(reported: dict[str, Any]) -> None:
    late = reported["late"]
    assert late["codes"] == ["TW106"]
    (evidence,) = late["evidence"]
    assert "layer late_bird (Dense)" in evidence
    assert "a dataset (ShuffleDataset)" in evidence
    assert "draws from NumPy's global stream" in evidence
    assert "draws from Python's random" in evidence
    assert late["place"] == [f"{PROGRAM}:{line('# the late line')}"]
    assert "TW106 pinned too late for what came before" in late["warned"]


def test_strict_pinning_that_cannot_hold_is_an_error(reported: dict[str, Any]) -> None:
    assert "hash-seed" in reported["strict"]
    assert "hint: start it with `twinrun run --pin=44`" in reported["strict"]


def test_an_eager_op_that_refuses_is_named_with_its_line(reported: dict[str, Any]) -> None:
    kind, code, message, place = reported["refused"]
    assert (kind, code) == ("FailedPreconditionError", "TW406")
    assert message.startswith("Timestamp has no deterministic implementation here")
    assert place == f"{PROGRAM}:{line('# the refused line')}"


def test_a_raw_random_op_without_a_seed_is_unseeded_and_not_without_a_kernel(
    reported: dict[str, Any],
) -> None:
    assert reported["raw"] == "TW104"


def test_the_programs_own_errors_are_left_alone(reported: dict[str, Any]) -> None:
    assert reported["unrelated"] is None


def test_allowing_it_inside_a_running_process_leaves_op_determinism_off_and_reports_it(
    reported: dict[str, Any],
) -> None:
    (sentence,) = reported["allowed"]
    assert sentence.startswith("op-determinism: left off")
    assert reported["op determinism after allowing"] == "off"


def test_a_layer_more_moves_neither_the_other_layers_nor_the_data(reported: dict[str, Any]) -> None:
    (weights, order), (with_more, order_with_more) = reported["stable"]
    assert weights == with_more
    assert order == order_with_more
    assert weights[0] != weights[1]
