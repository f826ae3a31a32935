"""What nbformat and IPython are asked for. Imported when a notebook is: they are an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from twinrun.errors import BadNotebook

if TYPE_CHECKING:
    from IPython.core.inputtransformer2 import TransformerManager


@contextmanager
def extra() -> Iterator[None]:
    """Around an import of what the extra brings."""
    try:
        yield
    except ModuleNotFoundError as problem:
        raise BadNotebook(
            f"notebooks need {problem.name}, which is not installed", hint='pip install "twinrun[notebook]"'
        ) from None


def all_cells(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Every cell of a notebook as nbformat gives it, and the metadata. Raises ValueError for what is none, and what a
    damaged one leads to."""
    with extra():
        from nbformat import reader

    document = reader.reads(text)
    version = document.get("nbformat", 1)
    if version != 4:
        raise ValueError(f"it has format {version}: open it in Jupyter and save it")
    return list(document["cells"]), dict(document.get("metadata", {}))


def transformer() -> TransformerManager:
    """What turns a cell into Python."""
    with extra():
        from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()
