"""Where baselines are kept: a folder of the repository, or any place fsspec opens. Writes are whole or not at
all."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from twinrun.environment.environment import EnvironmentKey
from twinrun.errors import CannotWrite, UsageError

FOLDER = "twinrun-baselines"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PATIENCE = 30.0  # seconds to wait for another writer

# What to write given what is there now (None: nothing); raising leaves everything as it is.
Change = Callable[[str | None], str]


class Store(Protocol):
    location: str

    def read(self, name: str, file: str) -> str | None: ...
    def change(self, name: str, file: str, change: Change) -> None: ...
    def names(self) -> list[str]: ...
    def files(self, name: str) -> list[str]: ...


def checked_name(name: str) -> str:
    """A baseline's name becomes a folder's: letters, digits, dots, dashes and underscores, nothing that
    climbs."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"{name!r} is not a name for a baseline",
            hint="letters, digits, dots, dashes and underscores, such as --name mnist-small",
        )
    return name


def file_of(key: EnvironmentKey) -> str:
    """The readable name with the whole digest: two keys never share a file."""
    return f"{key.name.rpartition('-')[0]}-{key.digest}.json"


def open_store(location: str | None = None, start: Path | None = None) -> Store:
    """The location that was asked for, else the project's own folder: beside the nearest pyproject.toml or
    .git."""
    if location and "://" in location and not location.startswith("file://"):
        return FsspecStore(location)
    if location:
        return LocalStore(Path(location.removeprefix("file://")))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return LocalStore(folder / FOLDER)
    return LocalStore(here / FOLDER)


class LocalStore:
    """A folder with a folder for each name. Writers wait for each other at a lock; readers never see half a
    file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)

    def read(self, name: str, file: str) -> str | None:
        path = self.root / checked_name(name) / file
        try:
            return path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise CannotWrite(f"cannot read {path}: {problem.strerror or problem}") from None

    def change(self, name: str, file: str, change: Change) -> None:
        folder = self.root / checked_name(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._locked(folder):
                text = change(self.read(name, file))
                partial = folder / f".{file}.{os.getpid()}"
                try:
                    with partial.open("w", encoding="utf-8") as out:
                        out.write(text)
                        out.flush()
                        os.fsync(out.fileno())
                    partial.replace(folder / file)
                finally:
                    partial.unlink(missing_ok=True)
        except OSError as problem:
            raise CannotWrite(
                f"cannot write a baseline to {folder}: {problem.strerror or problem}",
                hint="check its permissions, or choose another place with --store",
            ) from None

    def names(self) -> list[str]:
        if not self.root.is_dir():
            return []
        return sorted(
            each.name for each in self.root.iterdir() if each.is_dir() and _NAME.fullmatch(each.name)
        )

    def files(self, name: str) -> list[str]:
        folder = self.root / checked_name(name)
        return sorted(each.name for each in folder.glob("*.json")) if folder.is_dir() else []

    @contextlib.contextmanager
    def _locked(self, folder: Path) -> Iterator[None]:
        """A lock of the operating system on a file of its own: a writer that dies lets go of it."""
        import fcntl

        path = folder / ".lock"
        deadline = time.monotonic() + PATIENCE
        with path.open("a") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise CannotWrite(
                            f"another process has been writing to {folder} for {PATIENCE:g} s"
                        ) from None
                    time.sleep(0.02)
            yield


class FsspecStore:
    """Any place fsspec opens. Such places have no locks: a change that was overtaken is noticed and not
    written."""

    def __init__(self, location: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise UsageError(
                f"baselines at {location} need fsspec", hint="pip install 'twinrun[fsspec]'"
            ) from None
        from twinrun.environment.secrets import strip_user_info

        self.location = strip_user_info(location)
        try:
            filesystem, root = fsspec.core.url_to_fs(location)
        except (ImportError, ValueError, OSError) as problem:
            raise UsageError(f"{self.location} cannot be opened: {problem}") from None
        self._fs: Any = filesystem
        self._root = str(root).rstrip("/")

    def _path(self, name: str, file: str = "") -> str:
        return "/".join(part for part in (self._root, checked_name(name), file) if part)

    def read(self, name: str, file: str) -> str | None:
        try:
            return bytes(self._fs.cat_file(self._path(name, file))).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except Exception as problem:  # each filesystem has errors of its own
            raise CannotWrite(f"cannot read from {self.location}: {problem}") from None

    def change(self, name: str, file: str, change: Change) -> None:
        before = self.read(name, file)
        text = change(before)
        if self.read(name, file) != before:
            raise CannotWrite(f"{file} was changed by someone else meanwhile", hint="run the command again")
        try:
            self._fs.makedirs(self._path(name), exist_ok=True)
            self._fs.pipe_file(self._path(name, file), text.encode())
        except Exception as problem:
            raise CannotWrite(f"cannot write to {self.location}: {problem}") from None

    def names(self) -> list[str]:
        return sorted(name for name in self._list(self._root) if _NAME.fullmatch(name))

    def files(self, name: str) -> list[str]:
        return sorted(file for file in self._list(self._path(name)) if file.endswith(".json"))

    def _list(self, path: str) -> list[str]:
        try:
            return [str(each).rstrip("/").rpartition("/")[2] for each in self._fs.ls(path, detail=False)]
        except FileNotFoundError:
            return []
        except Exception as problem:
            raise CannotWrite(f"cannot list {self.location}: {problem}") from None
