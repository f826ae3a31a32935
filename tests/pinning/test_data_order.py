"""The order of tf.data: `deterministic=False` is overridden while pinned, also where op determinism is
off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent.parent / "programs" / "pinning" / "order.py"


@pytest.fixture(scope="module")
def order(printed: Callable[..., Any]) -> dict[str, Any]:
    return dict(printed("order.py"))


def line(part: str) -> int:
    return next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if part in text)


def test_completion_order_is_overridden_even_without_op_determinism(order: dict[str, Any]) -> None:
    assert order["plain"] != sorted(order["plain"])
    assert order["pinned"] == sorted(order["pinned"])
    assert order["op determinism"] is False


def test_it_reports_where_completion_order_was_asked_for(order: dict[str, Any]) -> None:
    assert order["read back"]["deterministic"] is True
    places = {f"{PROGRAM}:{line('with_options(options)')}", f"{PROGRAM}:{line('deterministic=False)')}"}
    assert places <= set(order["read back"]["overridden"])


def test_after_pinned_completion_order_is_obeyed_again(order: dict[str, Any]) -> None:
    assert order["afterwards"] != sorted(order["afterwards"])
