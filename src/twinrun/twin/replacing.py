"""Replacing functions of a package wherever the package itself holds them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

Pair = tuple[Callable[..., Any], Callable[..., Any]]


def replace_everywhere(pairs: Iterable[Pair], package: str) -> None:
    """For each (old, new): wherever the package's modules hold the old function under some name, put the new
    one. One function is re-exported by many modules, and there are thousands of them: so all pairs in one
    pass."""
    wanted = {id(old): (old, new) for old, new in pairs}
    if not wanted:
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != package or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            pair = wanted.get(id(value))
            if pair is not None and pair[0] is value:
                setattr(module, attribute, pair[1])
