"""Modules of a framework, imported when first used: the parent loads the classes that use them, and imports none."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)
