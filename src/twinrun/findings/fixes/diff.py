"""Fixes as a patch: a unified diff that `git apply` and `patch -p1` accept. That of a notebook is for people: it shows the
cells and not the file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from pathlib import Path

from twinrun import git
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import parsed


def as_patch(changed: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    """One patch of files as they were and as they are to be, byte for byte, whatever their encodings."""
    root = patch_root(changed)
    parts = []
    for file, (before, after) in changed.items():
        # A byte is a character of latin-1: nothing is lost, and lines end where diff ends them.
        path = _path_in(file, root).encode(errors="surrogateescape").decode("latin-1")
        if is_notebook(file):
            parts.append(_cells_diff(path, before, after))
        else:
            parts.append(file_diff(path, before.decode("latin-1"), after.decode("latin-1")))
    return "".join(parts).encode("latin-1")


def _cells_diff(path: str, before: bytes, after: bytes) -> str:
    """The cells that change, each with a heading of its own."""
    pairs = zip(parsed(before, path).cells, parsed(after, path).cells, strict=True)
    texts = [
        (old.number, [f"{cell.source}\n".encode().decode("latin-1") for cell in (old, new)])
        for old, new in pairs
    ]
    return "".join(file_diff(f"{path}, cell {number}", *both) for number, both in texts)


def shows_cells(patch: bytes) -> bool:
    """Whether it is, or has, a patch of a notebook, which no tool can apply."""
    return re.search(rb"^--- a/.*\.ipynb, cell \d+\t$", patch, re.MULTILINE) is not None


def patch_root(files: Iterable[str]) -> Path:
    """Where a patch of these files is applied: the current folder, or the top of its git tree where that holds them all
    and the folder does not, or else the root of the file system."""
    for folder in (Path.cwd(), git_top(Path.cwd())):
        if folder is not None and all(_is_below(file, folder) for file in files):
            return folder
    return Path(Path.cwd().anchor)


def git_top(folder: Path) -> Path | None:
    """The top folder of the git tree that holds this folder."""
    top = git.ask(folder, "rev-parse", "--show-toplevel")
    return Path(top.rstrip("\n")) if top else None


def file_diff(path: str, before: str, after: str) -> str:
    """The unified diff of one file; empty when nothing changed."""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    lines = unified_diff(_lines(before), _lines(after), old, new)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    """Lines as diff knows them: ended by a line feed and by nothing else."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _path_in(file: str, root: Path) -> str:
    """The file's path below the root, with forward slashes."""
    return Path(os.path.relpath(file, root)).as_posix()


def _is_below(file: str, folder: Path) -> bool:
    return not os.path.relpath(file, folder).startswith(os.pardir)


def _quoted(name: str) -> str:
    """A file name as git writes it: in quotes when it has characters that end a name, a tab after spaces."""
    if any(character in '"\\' or ord(character) < 0x20 for character in name):
        escaped = name.encode("unicode_escape").decode().replace('"', '\\"')
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
