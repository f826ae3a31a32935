"""Standing in for a function of `os`: libraries ask what such a function can do by looking it up in sets."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_ABILITIES = ("supports_fd", "supports_dir_fd", "supports_follow_symlinks", "supports_effective_ids")


def stand_in(name: str, function: Callable[..., Any]) -> None:
    """Put `function` in the place of `os.name`, with all that is said of it."""
    original = getattr(os, name)
    for ability in _ABILITIES:
        able: set[Any] = getattr(os, ability, set())
        if original in able:
            able.add(function)
    function.__name__, function.__qualname__, function.__doc__ = name, name, original.__doc__
    setattr(os, name, function)
