"""Marks functions that AutoGraph must not convert when they are called inside a tf.function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def unconverted(function: Function) -> Function:
    """AutoGraph calls a function with this attribute as it is. Setting it does not import TensorFlow."""
    function.autograph_info__ = {}  # type: ignore[attr-defined]
    return function
