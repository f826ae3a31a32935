"""One stream varied alone, in TensorFlow and Keras: what comes from it changes, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import PROGRAMS, python

pytestmark = pytest.mark.slow

BASE = "42,reseed"
MOVES = {
    "weights": {"weights"},
    "dropout": {"dropout"},
    "augmentation": {"augmentation"},
    "pipeline": {
        "shuffle",
        "map",
        "given",
    },  # a given seed is used together with the global one that the program sets
    "tensorflow-seed": {"tf"},
    "numpy-random": {"numpy"},
    "python-random": {"python"},
}
EVERY = set().union(*MOVES.values())
PLAIN = (BASE, "43,reseed", f"{BASE},streams=pipeline:43", f"{BASE},streams=weights:43")
OWN = tuple(
    f"own:{pin}"
    for pin in (BASE, "43,reseed", *(f"{BASE},streams={stream}:43" for stream in MOVES), "42", "43")
)


@pytest.fixture(scope="module")
def drawn() -> dict[str, dict[str, Any]]:
    answer = python(PROGRAMS / "pinning" / "streams.py", *PLAIN, *OWN)
    assert answer.code == 0, answer.err
    return dict(json.loads(answer.out.splitlines()[-1]))


def moved(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in one if one[name] != other[name]}


@pytest.mark.parametrize("stream", MOVES)
def test_a_stream_moves_what_comes_from_it(drawn: dict[str, Any], stream: str) -> None:
    """Also where the program seeds all of them together."""
    assert moved(drawn[f"own:{BASE}"], drawn[f"own:{BASE},streams={stream}:43"]) == MOVES[stream]


def test_another_seed_moves_all_of_them(drawn: dict[str, Any]) -> None:
    assert moved(drawn[f"own:{BASE}"], drawn["own:43,reseed"]) == EVERY


def test_without_seeds_of_the_programs_own_a_seed_that_is_given_to_an_op_stays(drawn: dict[str, Any]) -> None:
    assert moved(drawn[BASE], drawn["43,reseed"]) == EVERY - {"given"}
    assert moved(drawn[BASE], drawn[f"{BASE},streams=pipeline:43"]) == {"shuffle", "map"}
    assert moved(drawn[BASE], drawn[f"{BASE},streams=weights:43"]) == {"weights"}


def test_without_reseeding_the_programs_own_seeds_win(drawn: dict[str, Any]) -> None:
    assert moved(drawn["own:42"], drawn["own:43"]) == set()
