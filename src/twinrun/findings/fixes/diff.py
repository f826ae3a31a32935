"""Fixes as a patch: a unified diff that `git apply` and `patch -p1` accept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import unified_diff
from pathlib import Path

from twinrun.findings.fixes.fix import Fix, combined


def as_diff(fixes: Iterable[Fix], *, root: str | os.PathLike[str] | None = None) -> str:
    """One patch with all the fixes, file by file, to be applied in `root` (the current folder).

    Fixes of the same place are made once. A fix that contradicts an earlier one is left out: after the
    patch has been applied, the next run reports what is still to be done.
    """
    by_file: dict[str, list[Fix]] = {}
    for fix in fixes:
        by_file.setdefault(fix.file, []).append(fix)
    parts = []
    for file, its_fixes in by_file.items():
        source = its_fixes[0].source
        parts.append(file_diff(_path_in(file, root), source, combined(source, its_fixes)))
    return "".join(parts)


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


def _path_in(file: str, root: str | os.PathLike[str] | None) -> str:
    """The file's path below the root, with forward slashes; for a file elsewhere, its path below `/`."""
    path = Path(os.path.relpath(file, root or Path.cwd()))
    if path.parts and path.parts[0] == os.pardir:
        absolute = Path(file).resolve()
        path = absolute.relative_to(absolute.anchor)
    return path.as_posix()


def _quoted(name: str) -> str:
    """A file name as git writes it: in quotes when it has characters that end a name, a tab after spaces."""
    if any(character in '"\\' or ord(character) < 0x20 for character in name):
        escaped = name.encode("unicode_escape").decode().replace('"', '\\"')
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
