"""Where baselines are kept: a folder of the repository, or any place that fsspec opens."""

from __future__ import annotations

import contextlib
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from twinrun import untrusted
from twinrun.environment.environment import EnvironmentKey
from twinrun.errors import BadBaseline, CannotWrite, UsageError
from twinrun.masking import mask, strip_user_info
from twinrun.whole_file import write_whole

FOLDER = "twinrun-baselines"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PATIENCE = 30.0  # seconds to wait for another writer

# What to write given what is there now (None: nothing); raising leaves everything as it is.
Change = Callable[[str | None], str]


class Store(ABC):
    """A folder for each name, and in it a file for each environment key."""

    location: str

    def read(self, name: str, file: str) -> str | None:
        """The baseline of that name, or None. Raises BadBaseline for a file that cannot be one."""
        try:
            data = self._bytes(f"{checked_name(name)}/{file}")
            untrusted.must_fit(len(data or b""))
        except ValueError as problem:
            raise BadBaseline(f"{self.location}/{name}/{file} cannot be read: {problem}") from None
        return None if data is None else data.decode("utf-8", "replace")

    def names(self) -> list[str]:
        return sorted(name for name in self._inside("") if _NAME.fullmatch(name))

    def files(self, name: str) -> list[str]:
        return sorted(file for file in self._inside(checked_name(name)) if file.endswith(".json"))

    @abstractmethod
    def change(self, name: str, file: str, change: Change) -> None:
        """Replaces a file whole or not at all."""

    @abstractmethod
    def _bytes(self, path: str) -> bytes | None: ...

    @abstractmethod
    def _inside(self, path: str) -> list[str]: ...


def checked_name(name: str) -> str:
    """A baseline's name becomes a folder's, and must not lead out of the store."""
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
    """The location that is given, else the project's own folder, beside the nearest pyproject.toml or .git."""
    if location and "://" in location and not location.startswith("file://"):
        return FsspecStore(location)
    if location:
        return LocalStore(Path(location.removeprefix("file://")))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return LocalStore(folder / FOLDER)
    return LocalStore(here / FOLDER)


class LocalStore(Store):
    """A folder. Writers wait for each other at a lock; readers never see half a file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)

    def _bytes(self, path: str) -> bytes | None:
        try:
            return untrusted.read_bytes(self.root / path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise CannotWrite(f"cannot read {self.root / path}: {problem.strerror or problem}") from None

    def _inside(self, path: str) -> list[str]:
        folder = self.root / path
        try:
            return [each.name for each in folder.iterdir()] if folder.is_dir() else []
        except OSError as problem:
            raise CannotWrite(f"cannot list {folder}: {problem.strerror or problem}") from None

    def change(self, name: str, file: str, change: Change) -> None:
        folder = self.root / checked_name(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._locked(folder):
                write_whole(folder / file, change(self.read(name, file)))
        except OSError as problem:
            raise CannotWrite(
                f"cannot write a baseline to {folder}: {problem.strerror or problem}",
                hint="check its permissions, or choose another place with --store",
            ) from None

    @contextlib.contextmanager
    def _locked(self, folder: Path) -> Iterator[None]:
        """A lock of the operating system on the folder itself: a writer that dies lets go of it."""
        import fcntl

        deadline = time.monotonic() + PATIENCE
        lock = os.open(folder, os.O_RDONLY)
        try:
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
        finally:
            os.close(lock)


class FsspecStore(Store):
    """Any place that fsspec opens. Such places have no locks: a change that was overtaken is noticed and not
    written."""

    def __init__(self, location: str) -> None:
        self.location = strip_user_info(location)
        try:
            import fsspec
        except ImportError:
            raise UsageError(
                f"baselines at {self.location} need fsspec", hint="pip install 'twinrun[fsspec]'"
            ) from None
        try:
            filesystem, root = fsspec.core.url_to_fs(location)
        except (ImportError, ValueError, OSError) as problem:
            raise UsageError(f"{self.location} cannot be opened: {mask(str(problem))}") from None
        self._fs: Any = filesystem
        self._root = str(root).rstrip("/")

    def _bytes(self, path: str) -> bytes | None:
        with contextlib.suppress(FileNotFoundError), self._failing("read from"):
            most = untrusted.MOST_BYTES + 1
            return bytes(self._fs.cat_file(f"{self._root}/{path}", start=0, end=most))
        return None

    def _inside(self, path: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError), self._failing("list"):
            found = self._fs.ls(f"{self._root}/{path}".rstrip("/"), detail=False)
            return [str(each).rstrip("/").rpartition("/")[2] for each in found]
        return []

    def change(self, name: str, file: str, change: Change) -> None:
        before = self.read(name, file)
        text = change(before)
        if self.read(name, file) != before:
            raise CannotWrite(
                f"{file} was changed by someone else in the meantime", hint="run the command again"
            )
        folder = f"{self._root}/{checked_name(name)}"
        with self._failing("write to"):
            self._fs.makedirs(folder, exist_ok=True)
            self._fs.pipe_file(f"{folder}/{file}", text.encode())

    @contextlib.contextmanager
    def _failing(self, verb: str) -> Iterator[None]:
        """Each filesystem has errors of its own, and may name the whole address in them."""
        try:
            yield
        except Exception as problem:
            if isinstance(problem, FileNotFoundError) and verb != "write to":
                raise
            raise CannotWrite(f"cannot {verb} {self.location}: {mask(str(problem))}") from None
