"""Notebooks as programs. A notebook is one Python text to whoever reads, runs or changes source: its code cells, one below
the other. Only this package knows the file, and only it imports nbformat and IPython (the extra `notebook`)."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".ipynb"


def is_notebook(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix == SUFFIX
