"""One stream varied alone, in TensorFlow and Keras: what comes from it changes, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import PROGRAMS, python

BASE = "42,reseed"
MOVES = {
    "weights": {"weights"},
    "dropout": {"dropout"},
    "augmentation": {"augmentation"},
    "pipeline": {"shuffle", "map"},
    "tensorflow-seed": {"tf"},
    "numpy-random": {"numpy"},
    "python-random": {"python"},
}
PINS = (BASE, "43,reseed", *(f"{BASE},streams={stream}:43" for stream in MOVES), "42", "43")


@pytest.fixture(scope="module")
def drawn() -> dict[str, dict[str, Any]]:
    answer = python(PROGRAMS / "pinning" / "streams.py", *PINS)
    assert answer.code == 0, answer.err
    return dict(json.loads(answer.out.splitlines()[-1]))


def moved(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in one if one[name] != other[name]}


@pytest.mark.parametrize("stream", MOVES)
@pytest.mark.parametrize("own_seeds", [False, True])
def test_a_stream_moves_what_comes_from_it(drawn: dict[str, Any], stream: str, own_seeds: bool) -> None:
    found = moved(drawn[f"{BASE} {own_seeds}"], drawn[f"{BASE},streams={stream}:43 {own_seeds}"])
    # A shuffle with a seed follows the global seed too, where the program sets one.
    given = {"given"} if own_seeds and stream == "pipeline" else set()
    assert found == MOVES[stream] | given


def test_another_seed_moves_all_of_them_also_where_the_program_seeds_itself(drawn: dict[str, Any]) -> None:
    every = set().union(*MOVES.values())
    assert moved(drawn[f"{BASE} False"], drawn["43,reseed False"]) == every
    assert moved(drawn[f"{BASE} True"], drawn["43,reseed True"]) == every | {"given"}


def test_without_reseeding_the_programs_own_seeds_win(drawn: dict[str, Any]) -> None:
    assert moved(drawn["42 True"], drawn["43 True"]) == set()
