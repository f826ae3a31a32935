"""The processes that the program starts, seen from inside: each new interpreter finds Twinrun at its entrance as the
program itself did, each forked process goes on with the recorder that it inherits, and both record what they train."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from twinrun.masking import mask, mask_arguments, masked
from twinrun.protocol import channel as wire
from twinrun.protocol import child as files
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.messages import End, SoFar
from twinrun.protocol.spec import CHILD, VARIABLE, Spec
from twinrun.recording.frame import Frame
from twinrun.twin.callers import own

INJECT = str(Path(__file__).parent / "inject")
# The functions that a worker runs which takes its tasks from a queue.
_WORKERS = ("multiprocessing.pool", "concurrent.futures.process", "process_executor")
_MOST_CLAIMS = 10_000


class Family:
    """This process and those that it starts."""

    def __init__(self, spec: Spec, spec_file: str, identity: str = "") -> None:
        self.identity = identity  # empty for the program itself
        self.spec_file = spec_file
        self.children: list[int] = []  # the numbers of the processes that this one has started
        self.home = Path(spec.folder) / files.FOLDER
        self._show_arguments = spec.show_arguments
        self._workers = spec.workers
        self._started = 0
        self._lock = threading.Lock()
        self._forked = ""
        self.is_fork = False

    def next_identity(self) -> str:
        with self._lock:
            self._started += 1
            return f"{self.identity}.{self._started}" if self.identity else str(self._started)

    @property
    def worker(self) -> int | None:
        """Its number in the cluster: what starts the workers starts nothing else."""
        number = int(self.identity) - 1 if self.identity.isdigit() else -1
        return number if 0 <= number < self._workers and not self.is_fork else None

    # forks

    def before_fork(self) -> None:
        """In the parent: its children are counted in the order in which it starts them."""
        self._forked = self.next_identity()

    def after_fork(self) -> None:
        """Reset in the child."""
        self.identity, self._started, self.is_fork = self._forked, 0, True
        self.children = []
        self._lock = threading.Lock()

    # new interpreters

    def entrance(self, environment: Mapping[Any, Any], identity: str | None = None) -> dict[str, str]:
        """What to add to the environment of a process that is started; nothing where it is none of the program's."""
        known = {os.fsdecode(name): value for name, value in environment.items()}
        if getattr(own, "looking", False) or VARIABLE in known:
            return {}
        before = known.get("PYTHONPATH")
        return entrance(
            self.spec_file, None if before is None else os.fsdecode(before), identity or self.next_identity()
        )

    # what is written down

    def command_label(self, words: Sequence[str]) -> str:
        """The command of an interpreter as it is shown: without secrets, and not too long."""
        shown = list(mask_arguments([" ".join(word.split()) for word in words], show=self._show_arguments))
        for place, word in enumerate(words[:-1]):
            if word == "-c":  # code is no secret, but may hold one
                shown[place + 1] = mask(" ".join(words[place + 1].split()))
            if not word.startswith("-") or word == "-c":
                break
        text = " ".join(shown)
        return text if len(text) <= 80 else f"{text[:79]}…"

    def claim(self, identity: str) -> Path:
        """A folder for the process of this identity. A shell script may start several under the one it was given."""
        for number in range(1, _MOST_CLAIMS):
            folder = self.home / (identity if number == 1 else f"{identity}~{number}")
            with contextlib.suppress(FileExistsError):
                folder.mkdir(parents=True)
                return folder
        raise OSError(f"too many processes in {self.home}")

    def signalled(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            self.home.mkdir(exist_ok=True)
            with (self.home / files.SIGNALLED).open("a") as file:
                file.write(f"{pid}\n")


def entrance(spec_file: str, pythonpath: str | None, identity: str = "") -> dict[str, str]:
    """The variables with which an interpreter runs Twinrun before the program."""
    added = {
        "PYTHONPATH": os.pathsep.join((INJECT, pythonpath)) if pythonpath else INJECT,
        VARIABLE: spec_file,
    }
    return {**added, CHILD: identity} if identity else added


def restore_environment() -> str:
    """The program and its children see the environment that plain python would have given them. Returns the identity
    of a child, which is empty in the program itself."""
    before = os.environ.get("PYTHONPATH", "").removeprefix(INJECT).removeprefix(os.pathsep)
    os.environ.pop("PYTHONPATH", None)
    if before:
        os.environ["PYTHONPATH"] = before
    return os.environ.pop(CHILD, "")


class Mailbox:
    """Where a child leaves what the program itself would tell its parent: in files, of which there are none as long as
    it has nothing to tell."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._folder: Path | None = None
        self._so_far = SoFar()

    def folder(self) -> Path:
        if self._folder is None:
            label, pool = _label(self._family)
            identity = self._family.identity
            self._folder = self._family.claim(identity)
            ChildProcess(identity, label, os.getpid(), pool, worker=self._family.worker).write(self._folder)
        return self._folder

    def send_frame(self, frame: Frame) -> None:
        """The recording has it."""

    def keep(self, so_far: SoFar) -> None:
        """Written down as soon as it changes, and as a whole: this process may be ended at any time."""
        if so_far != self._so_far:
            self._so_far = so_far
            file = self.folder() / files.SO_FAR
            partial = file.with_suffix(".partial")
            partial.write_bytes(wire.encode(masked(so_far)))
            partial.replace(file)

    def send_message(self, kind: int, message: msgspec.Struct) -> None:
        if kind == wire.END:
            assert isinstance(message, End)
            if self._folder is not None or message.facts.events or message.facts.unrepeatable:
                (self.folder() / files.END).write_bytes(wire.encode(masked(message)))
        elif kind == wire.TROUBLE:
            (self.folder() / files.TROUBLE).write_bytes(wire.encode(masked(message)))

    def receive(self) -> tuple[int, Any] | None:
        return None

    def close(self) -> None:
        pass


def _label(family: Family) -> tuple[str, bool]:
    """What to call this process, and whether it is a worker of a pool."""
    if family.worker is not None:
        return files.worker_name(family.worker), False
    multiprocessing = sys.modules.get("multiprocessing.process")
    process: Any = multiprocessing.current_process() if multiprocessing is not None else None
    if process is not None and getattr(process, "_parent_pid", None) is not None:
        module = str(getattr(getattr(process, "_target", None), "__module__", ""))
        return f"multiprocessing {process.name}", module.endswith(_WORKERS)
    command = family.command_label(sys.orig_argv[1:] or ["python"])
    return f"fork of {command}" if family.is_fork else command, False
