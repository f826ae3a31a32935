"""A varied listing is always another one than the file system gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from twinrun.sources.file_listing import ordered
from twinrun.twin.session import Session


@pytest.mark.parametrize(
    ("listed", "given"),
    [
        ("abc", "cba"),
        ("bca", "cba"),
        ("cba", "abc"),
        ("a", "a"),
    ],  # the third as tmpfs lists files made in order
)
def test_a_reversed_listing_is_in_another_order_than_the_plain_one(listed: str, given: str) -> None:
    log = SimpleNamespace(frozen=lambda *_: None, record=lambda *_, **__: None)
    session = SimpleNamespace(varied={"fileorder": "reversed"}, recorder=None, inputs=None, log=log)
    items = ordered(cast(Session, session), None, ".", list(listed), "os.listdir", str)
    assert items == list(given)
