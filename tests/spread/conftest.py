"""SciPy for this process and for the commands that it starts: it lies with the libraries that only some tests need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pages import blocks, install
from support import LIBRARIES

sys.path.append(str(LIBRARIES))


@pytest.fixture
def tinynet(tmp_path: Path) -> dict[str, str | None]:
    """The variables with which a program can import the framework of docs/how-to/add-a-framework.md, and `twinrun` SciPy."""
    page = {name: text for name, text in blocks("add-a-framework.md").items() if name != "train.py"}
    return {"PYTHONPATH": os.pathsep.join([str(install(page, tmp_path / "packages")), str(LIBRARIES)])}
