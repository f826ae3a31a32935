"""Notebooks as Jupyter writes them: with outputs and metadata that nobody may touch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "version": "3.11.7"},
}


def code(source: str, *tags: str) -> dict[str, Any]:
    output = {
        "data": {"text/plain": ["'ünchanged'"]},
        "execution_count": 7,
        "metadata": {},
        "output_type": "execute_result",
    }
    return {
        "cell_type": "code",
        "execution_count": 7,
        "metadata": {"tags": list(tags), "scrolled": True},
        "outputs": [output],
        "source": source.splitlines(keepends=True),
    }


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(*cells: str | dict[str, Any], **changes: Any) -> dict[str, Any]:
    made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    return {"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 4, **changes}


def as_bytes(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def write_notebook(folder: Path, *cells: str | dict[str, Any], name: str = "analysis.ipynb") -> Path:
    path = folder / name
    path.write_bytes(as_bytes(notebook(*cells)))
    return path
