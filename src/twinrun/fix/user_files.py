"""The user's files as the search for a patch sees them: each read once, and never written before the end."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from twinrun import git
from twinrun.errors import CannotWrite
from twinrun.findings.fixes import SourceFile, as_patch, read_own


class UserFiles:
    """Files by their absolute path."""

    def __init__(self) -> None:
        self._read: dict[str, SourceFile | None] = {}

    def file(self, path: str) -> SourceFile | None:
        name = os.path.realpath(path)
        if name not in self._read:
            self._read[name] = read_own(name)
        return self._read[name]

    @property
    def texts(self) -> dict[str, str]:
        return {name: file.text for name, file in self._read.items() if file is not None}

    def bytes_of(self, texts: Mapping[str, str]) -> dict[str, tuple[bytes, bytes]]:
        """What each of these files holds, and what it would hold with this text."""
        found = {name: self.file(name) for name in texts}
        return {name: (file.data, file.with_text(texts[name])) for name, file in found.items() if file}

    def as_utf8(self, texts: Mapping[str, str]) -> dict[str, str]:
        """What the files would hold in UTF-8: one that names another encoding names that instead."""
        changed = self.bytes_of(texts)
        other = {name for name, file in self._read.items() if file and not file.encoding.startswith("utf-8")}
        return {
            name: _renamed(texts[name]) if name in other else after.decode("utf-8-sig")
            for name, (_, after) in changed.items()
        }

    def tidied(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The texts as they are read again once they have been written."""
        return {
            name: file.tidied(text) if (file := self.file(name)) else text for name, text in texts.items()
        }

    def patch(self, texts: Mapping[str, str]) -> bytes:
        return as_patch(self.bytes_of(texts))

    def write(self, texts: Mapping[str, str], *, force: bool) -> None:
        """The new texts, in place: a file keeps its mode. Nothing is written where one file cannot be."""
        changed = self.bytes_of(texts)
        for name, (before, _) in changed.items():
            if _bytes(name) != before:
                raise CannotWrite(
                    f"{name} changed while the patch was being looked for", hint="run twinrun fix again"
                )
        if not force:
            must_be_clean(changed)
        for name, (_, after) in changed.items():
            try:
                Path(name).write_bytes(after)
            except OSError as problem:
                raise CannotWrite(f"cannot write {name}: {problem.strerror}") from None


def must_be_clean(files: Mapping[str, object]) -> None:
    """Every file is tracked by git and has no change of the user's own that a patch would mix with."""
    for name in files:
        path = Path(name)
        words = ("--porcelain", "--ignored", "--untracked-files=all", "--", path.name)
        changes = git.ask(path.parent, "status", *words)
        if changes is None:
            raise _cannot_write(f"{name} is not in a git repository: a change could not be undone")
        if changes:
            tracked = not changes.startswith(("??", "!!"))
            raise _cannot_write(f"{name} {'has uncommitted changes' if tracked else 'is not tracked by git'}")


def must_be_in_git(file: Path) -> None:
    if git.ask(file.parent, "status", "--porcelain", "--", file.name) is None:
        raise _cannot_write(f"{file} is not in a git repository: a change could not be undone")


def _cannot_write(problem: str) -> CannotWrite:
    return CannotWrite(problem, hint="commit it first, or write anyway with --force")


def _renamed(text: str) -> str:
    """The text with another encoding named in its first or second line, where Python looks for one."""
    return re.sub(r"\A(?:[^\n]*\n)?[^\n]*?coding[:=][ \t]*[-\w.]+", _to_utf8, text, count=1)


def _to_utf8(match: re.Match[str]) -> str:
    return re.sub(r"[-\w.]+\Z", "utf-8", match[0])


def _bytes(name: str) -> bytes | None:
    try:
        return Path(name).read_bytes()
    except OSError:
        return None
