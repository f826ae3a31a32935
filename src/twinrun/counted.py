"""Numbers of things, in words."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
