"""The user's own source files: read, and written again, with their encoding and line endings as they are."""

from __future__ import annotations

import io
import os
import sysconfig
import tokenize
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from twinrun import untrusted
from twinrun.errors import BadNotebook
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import LARGEST, Notebook, parsed

_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class SourceFile:
    path: str
    data: bytes = field(repr=False)

    @cached_property
    def encoding(self) -> str:
        """What the file's first lines or its byte order mark say, or UTF-8. Raises SyntaxError for an unknown one."""
        return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]

    @cached_property
    def text(self) -> str:
        return self.data.decode(self.encoding)

    def with_text(self, text: str) -> bytes:
        return text.encode(self.encoding)

    def tidied(self, text: str) -> str:
        """A changed text as it is read again once it has been written."""
        return text


class NotebookFile(SourceFile):
    """Its text is the Python of its cells."""

    encoding = "utf-8"

    @cached_property
    def text(self) -> str:
        return self._notebook(self.data).text

    def with_text(self, text: str) -> bytes:
        return self._notebook(self.data).with_text(text)

    def tidied(self, text: str) -> str:
        return self._notebook(self.with_text(text)).text

    def _notebook(self, data: bytes) -> Notebook:
        return parsed(data, Path(self.path).name)


def read_own(path: str | os.PathLike[str]) -> SourceFile | None:
    """A Python file or a notebook of the user's own; None for what is installed, or cannot be read."""
    name = os.fspath(path)
    notebook = is_notebook(name)
    if not (notebook or name.endswith(".py")) or is_installed(name):
        return None
    try:
        file: SourceFile
        if notebook:
            file = NotebookFile(name, untrusted.read_bytes(Path(name), LARGEST))
        else:
            file = SourceFile(name, untrusted.read_bytes(Path(name)))
        return file if file.text is not None else None
    except (OSError, ValueError, SyntaxError, BadNotebook):
        return None


def is_installed(path: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself."""
    real = Path(path).resolve()
    if _INSTALLED.intersection(real.parts):
        return True
    return any(real.is_relative_to(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
