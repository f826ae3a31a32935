"""The process of a twin, below a supervisor that ends with it whatever it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from twinrun.launch.program import Program
from twinrun.twin import supervise

_SUPERVISOR = str(Path(supervise.__file__).absolute())
_PATIENCE = 15.0  # seconds; the supervisor itself gives up before


class Supervised:
    """Started at once. Ends with this object, and with this process, however that ends: the supervisor sees the line
    between them closed."""

    def __init__(self, program: Program, pass_fds: tuple[int, ...], **settings: Any) -> None:
        """`settings` are those of Popen."""
        self.returncode: int | None = None
        self._pid: int | None = None
        self._heard = b""
        self._line, theirs = socket.socketpair()
        with theirs:
            words = (program.python, "-I", "-S", _SUPERVISOR, str(theirs.fileno()), *program.command())
            fds = (theirs.fileno(), *pass_fds)
            # Apart from our own group: Ctrl-C in a terminal is for the command to answer.
            self._supervisor = subprocess.Popen(words, pass_fds=fds, start_new_session=True, **settings)
        self.stdin: IO[bytes] | None = self._supervisor.stdin

    def poll(self) -> int | None:
        return self.wait(0.0)

    def wait(self, timeout: float) -> int | None:
        """The exit code of the program, negative for a signal; None where it still runs after that many seconds."""
        deadline = time.monotonic() + timeout
        while self.returncode is None:
            self._line.settimeout(max(0.0, deadline - time.monotonic()))
            try:
                heard = self._line.recv(64)
            except (TimeoutError, BlockingIOError):
                return None
            self._heard += heard
            *lines, _ = self._heard.split(b"\n")
            if lines:
                self._pid = int(lines[0])
            if len(lines) > 1:
                self.returncode = os.waitstatus_to_exitcode(int(lines[1]))
            elif not heard:  # the supervisor was killed, and the program with it
                self.returncode = self._supervisor.wait()
        return self.returncode

    def send(self, number: int) -> None:
        """A signal to the program alone, where it still runs."""
        if self.poll() is None and self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def end(self) -> None:
        """End the process and everything that it started, including what has made a session of its own."""
        if self.poll() is None:
            self.returncode = -signal.SIGKILL
        self._line.close()
        try:
            self._supervisor.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if self._supervisor.returncode != 0 and self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
