"""Every source of randomness: left alone it differs from run to run, pinned from outside it repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SOURCES = [
    "python random",
    "numpy global",
    "numpy generator from a derived seed",
    "tf.random op",
    "tf.random op in a function",
    "tf.random.Generator",
    "keras initialiser",
    "keras dropout",
    "keras.random",
    "keras augmentation",
    "tf_keras initialiser",
    "tf_keras dropout",
    "tf.data shuffle",
    "random op in a parallel map",
    "tf.image augmentation",
    "distorted bounding box",
    "set order",
]


@pytest.fixture(scope="module")
def plain(printed: Callable[..., Any]) -> list[dict[str, str]]:
    return [printed("sources.py") for _ in range(2)]


@pytest.fixture(scope="module")
def pinned(printed: Callable[..., Any]) -> list[dict[str, str]]:
    return [printed("sources.py", "--pin=42") for _ in range(2)]


@pytest.fixture(scope="module")
def otherwise_pinned(printed: Callable[..., Any]) -> dict[str, str]:
    return dict(printed("sources.py", "--pin=43"))


def test_every_source_is_tried(plain: list[dict[str, str]]) -> None:
    assert list(plain[0]) == SOURCES


@pytest.mark.parametrize("source", SOURCES)
def test_left_alone_it_differs_from_run_to_run(plain: list[dict[str, str]], source: str) -> None:
    assert plain[0][source] != plain[1][source]


@pytest.mark.parametrize("source", SOURCES)
def test_pinned_it_repeats(pinned: list[dict[str, str]], source: str) -> None:
    assert pinned[0][source] == pinned[1][source]


@pytest.mark.parametrize("source", SOURCES)
def test_another_seed_gives_another_result(
    pinned: list[dict[str, str]], otherwise_pinned: dict[str, str], source: str
) -> None:
    assert pinned[0][source] != otherwise_pinned[source]
