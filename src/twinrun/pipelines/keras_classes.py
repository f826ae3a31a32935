"""Keras' own classes, known by name: neither package is imported to recognise them."""

from __future__ import annotations

from typing import Any


def is_a(value: Any, *names: str, packages: tuple[str, ...] = ("keras", "tf_keras")) -> bool:
    """Whether a value's class descends from one of these of Keras'."""
    return any(
        parent.__name__ in names and parent.__module__.partition(".")[0] in packages
        for parent in type(value).__mro__
    )
