"""Started in front of a twin, and stays beside it for as long as anything of the twin lives. A process below here that loses its
parent becomes a child of this one, so that a daemon in a session of its own is found and ended too. Runs as a script, and
imports as little as can be: every twin waits for it."""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

_DEATH_SIGNAL, _SUBREAPER = 1, 36  # of prctl
_PATIENCE = 10.0  # seconds for processes that cannot be ended at once, or at all: those of another user, say


def supervise(line: int, command: list[str]) -> None:
    """Writes the process id of the command to the line and, once it has ended, its wait status. When the other end of the
    line is closed, by whatever end of the process there, ends everything that is left."""
    _prctl(_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # only so that it wakes us
    supervisor = os.getpid()
    program = os.fork()
    if not program:
        _become(command, line, supervisor)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # its end would leave the twin alone
        signal.signal(number, signal.SIG_IGN)
    _let_go((line, woken, wake))
    _write(line, program)
    waiting = True
    while waiting:
        ready = select.select([line, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            with contextlib.suppress(ChildProcessError):
                while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                    if ended[0] == program:
                        _write(line, ended[1])
        waiting = line not in ready
    _end_all(supervisor, woken)


def _become(command: list[str], line: int, supervisor: int) -> None:
    """The twin. It is in a session of its own, and ends with its supervisor."""
    os.close(line)
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by every Python, and by what it turns into
        signal.signal(number, signal.SIG_DFL)
    _prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() == supervisor:
        os.execvp(command[0], command)
    os._exit(1)


def _let_go(kept: tuple[int, ...]) -> None:
    """Close everything that belongs to the twin: what the twin closes then has no other holder."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if descriptor > 2 and descriptor not in kept:
            with contextlib.suppress(OSError):
                os.close(descriptor)
    os.chdir("/")


def _write(line: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.write(line, b"%d\n" % number)


def _end_all(supervisor: int, woken: int) -> None:
    """Again and again until nothing is left: a process may start another one while they are being ended."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        for process in _below(supervisor):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if select.select([woken], [], [], 0.05)[0]:
            os.read(woken, 4096)


def _below(process: int) -> list[int]:
    """Its children, their children, and so on."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [process]
    for each in found:
        found += children.get(each, ())
    return found[1:]


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    supervise(int(sys.argv[1]), sys.argv[2:])
    with contextlib.suppress(KeyError, OSError):
        os.unlink(os.environ["TWINRUN_SPEC"])  # noqa: PTH108
    os._exit(0)
