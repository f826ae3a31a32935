"""Replacing a function of a package wherever the package itself holds it."""

from __future__ import annotations

import sys
from typing import Any


def replace_everywhere(old: Any, new: Any, package: str) -> None:
    """Wherever the package's modules hold `old` under some name, put `new`: a function is re-exported by
    many."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != package or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            if value is old:
                setattr(module, attribute, new)
