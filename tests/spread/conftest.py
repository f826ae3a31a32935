"""A framework that starts at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import blocks, install


@pytest.fixture
def tinynet(tmp_path: Path) -> dict[str, str | None]:
    """The variables with which a program can import the framework of docs/how-to/add-a-framework.md."""
    page = {name: text for name, text in blocks("add-a-framework.md").items() if name != "train.py"}
    return {"PYTHONPATH": str(install(page, tmp_path / "packages"))}
