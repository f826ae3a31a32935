"""One run on a node of a cluster. The program's folders are unpacked at a path that is the same on every node, so that no
run can be told from another by it; the run has a view of its own of them, and nothing of it stays on the node."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from twinrun.engines.parcel import pack_recording, unpack_program
from twinrun.launch.copy_view import moved
from twinrun.launch.folders import remove_tree
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.masking import each_text

_WHOLE = ".whole"  # a file beside folders that were unpacked to the end


@dataclass(frozen=True)
class Order:
    """A run to be made elsewhere. Its options, `roots` and `cwd` are as they are here; `digest` is that of the parcel of
    the roots."""

    options: RunOptions
    roots: tuple[Path, ...]
    cwd: Path
    digest: str


@dataclass(frozen=True)
class MadeRun:
    """What a run left, by the names that the program's files have where it was ordered."""

    host: str
    result: RunResult
    recording: bytes


def make_run(order: Order, parcel: bytes) -> MadeRun:
    with (
        _unpacked(order.digest, parcel) as place,
        tempfile.TemporaryDirectory(prefix="run-", dir=place) as folder,
    ):
        there = [(root, place / str(number)) for number, root in enumerate(order.roots)]
        options = replace(
            order.options,
            program=_program_there(order, there),
            folder=str(Path(folder, "run")),
            own_view=True,
        )
        with _inside(_moved_there(order.cwd, there)):
            result = run_once(options)

        def as_here(text: str) -> str:
            for here, path in there:
                text = text.replace(str(path), str(here))
            return text

        facts = each_text(structs.replace(result.facts, events=[]), as_here)  # events are for a diagnosis
        result = replace(each_text(result, as_here), facts=facts)
        return MadeRun(socket.gethostname(), result, pack_recording(result.recording))


def _program_there(order: Order, there: list[tuple[Path, Path]]) -> Program:
    """The program with the interpreter of this node. A relative path stays as it is, where it stays within one folder."""
    import sys

    program = replace(order.options.program, python=sys.executable)
    if program.module or (len(there) == 1 and not Path(program.target).is_absolute()):
        return program
    target = (order.cwd / program.target).resolve()
    return replace(program, target=str(_moved_there(target, there)))


def _moved_there(path: Path, there: list[tuple[Path, Path]]) -> Path:
    text = str(path)
    for here, new in there:
        text = moved(text, here, new)
    return Path(text)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _unpacked(digest: str, data: bytes) -> Iterator[Path]:
    """Shared by all runs of a check on this machine. The last to leave removes it, with what a run that was killed
    has left there."""
    folder = Path(tempfile.gettempdir(), f"twinrun-ray-{os.getuid()}-{digest}")
    lock = _enter(folder, data)
    try:
        yield folder
    finally:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(folder)
        os.close(lock)


def _enter(folder: Path, data: bytes) -> int:
    """A lock on the folder with everything in it, which others may hold too. One of them may just be removing it."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _is_still(folder, lock):
                if (folder / _WHOLE).exists():
                    return lock
                fcntl.flock(lock, fcntl.LOCK_EX)
                if _is_still(folder, lock) and not (folder / _WHOLE).exists():
                    unpack_program(data, folder)
                    (folder / _WHOLE).touch()
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _is_still(folder: Path, lock: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False
