"""Racing pipelines, made repeatable, give bit-equal streams in fresh processes, whatever runs in parallel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def streams(calls: int) -> dict[str, Any]:
    """What a fresh process gives with this many parallel calls."""
    script = Path(__file__).parent / "streams.py"
    done = subprocess.run(
        [sys.executable, str(script), str(calls)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    return [streams(calls) for calls in (1, 8)]


def test_every_racing_pipeline_is_bit_equal_with_1_and_8_parallel_calls(runs: list[dict[str, Any]]) -> None:
    assert len(runs[0]["streams"]) >= 40
    assert apart(runs) == set()


@pytest.mark.slow
def test_every_racing_pipeline_is_bit_equal_in_three_more_processes(runs: list[dict[str, Any]]) -> None:
    runs = [*runs, *(streams(calls) for calls in (2, 2, 8))]
    assert apart(runs) == set()
    assert len({run["not repeatable"] for run in runs}) == len(runs)


def apart(runs: list[dict[str, Any]]) -> set[str]:
    """The pipelines that are not the same in all runs."""
    first = runs[0]["streams"]
    return {name for run in runs[1:] for name in first if run["streams"][name] != first[name]}


def test_epochs_of_pipelines_that_draw_differ_from_one_another(runs: list[dict[str, Any]]) -> None:
    # Only the order was nondeterministic, or the original draws once and for all, or a cache keeps the first epoch.
    same_by_nature = {
        "cache_behind_augmentation",
        "unseeded_random_source",
        "unseeded_resampling",
        "unseeded_sampling",
        "unseeded_shuffle_that_does_not_reshuffle",
    }
    same = {name for name, (first, second) in runs[0]["streams"].items() if first == second}
    assert {name for name in same if "order" not in name and "options" not in name} == same_by_nature


def test_the_original_differs_from_process_to_process(runs: list[dict[str, Any]]) -> None:
    assert len({run["not repeatable"] for run in runs}) == len(runs)
