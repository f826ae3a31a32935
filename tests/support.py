"""Running Twinrun as its users do: the real command, in real processes, on small programs written for the purpose."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PROGRAMS = Path(__file__).parent / "programs"
COMMAND = (sys.executable, "-m", "twinrun")
# Pandas and the like, out of the way of programs that do not need them.
LIBRARIES = Path(sys.prefix) / "libraries" / "site-packages"

# What a program of these tests needs to tell one twin from the other: exactly one of the processes that ask can make the
# file, which lies outside the folder that each of them has to itself.
FIRST = """
import os, sys
def first(marker=sys.argv[-1]):
    shared = os.path.join(os.environ["TWINRUN_HOME"], marker.replace(os.sep, "-"))
    try:
        os.close(os.open(shared, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
"""

# The cheapest program that trains: twenty bytes of weights, no Keras. `each(step)` is called after each update.
BY_HAND = """
import tensorflow as tf
def train(steps, each=lambda step: None, batch=lambda step, x: x):
    for step in range(1, steps + 1):
        x = batch(step, tf.reshape(tf.range(8.0), [4, 2]) / float(step))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - 1.0) ** 2)
        weight.assign_sub(0.05 * tape.gradient(loss, weight))
        each(step)
weight = tf.Variable([[0.5], [0.25]], name="weight")
"""

# The same with the framework of docs/how-to/add-a-framework.md, which takes no time to start: for what is the same
# whichever framework trains. Tests that use it ask for the fixture `tinynet`.
PLAIN = """
import numpy as np
import tinynet
tinynet.seed(1)
def train(steps, each=lambda step: None, batch=lambda step, x: x):
    for step in range(1, steps + 1):
        model.train_step(batch(step, np.arange(8, dtype="f").reshape(4, 2) / step), np.ones(4, "f"))
        each(step)
model = tinynet.Line(2)
model.weight = np.array([0.5, 0.25], "f")
"""


@dataclass(frozen=True)
class Answer:
    """What the command gave back."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.out)
        except ValueError:
            raise AssertionError(f"no JSON on stdout (exit {self.code}):\n{self.out}\n{self.err}") from None
        return found

    @property
    def message(self) -> str:
        """The one message of a command that could not do its work; fails where there is a traceback instead."""
        assert "Traceback" not in self.err and "Traceback" not in self.out, self.out + self.err
        return self.err


def environment(**changes: str | None) -> dict[str, str]:
    """Ours, without anything that would steer Twinrun or the framework from outside; the path is what conftest.py makes it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PYTHONPATH" or not name.startswith(("TWINRUN_", "TF_", "PYTHON"))
    }
    kept |= {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TWINRUN_HOME": os.environ["TWINRUN_HOME"],
    }
    for name, value in changes.items():
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
    return kept


def twinrun(
    *words: str | Path,
    stdin: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float = 600,
) -> Answer:
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=timeout,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def on_a_terminal(*words: str | Path, columns: int = 80, cwd: Path | None = None) -> str:
    """What the command sends to a terminal that it has for all it writes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [*COMMAND, *map(str, words)]
    settings = environment(TERM="xterm", NO_COLOR=None)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=settings, cwd=cwd
    ):
        os.close(theirs)
        output = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # it has ended
                break
            output += chunk
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def python(
    *words: str | Path, stdin: str = "", cwd: Path | None = None, timeout: float = 600, **env: str | None
) -> Answer:
    """The same interpreter, with Twinrun nowhere near."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**env),
        timeout=timeout,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def check(
    program: str | Path, *options: str, arguments: Sequence[str | Path] = (), **settings: Any
) -> Answer:
    """A check without diagnosis whose answer is read as JSON."""
    return twinrun(
        "check", "--no-diagnose", "--output-format", "json", *options, program, *arguments, **settings
    )


def write(folder: Path, text: str, name: str = "train.py") -> Path:
    """A program from an indented text."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def executable(path: Path, text: str) -> Path:
    """A script that can be run at once. A process of its own writes it: while a file is open for writing anywhere it cannot
    be executed, and whatever another thread of this process starts just then would keep it open."""
    subprocess.run(["install", "-m", "755", "/dev/stdin", str(path)], input=text, text=True, check=True)
    return path


def outputs(document: Mapping[str, Any]) -> list[str]:
    """What each twin printed."""
    return [(Path(folder) / "stdout.txt").read_text() for folder in document["recordings"]]


def start(
    *words: str | Path, env: Mapping[str, str | None] | None = None, **settings: Any
) -> subprocess.Popen[str]:
    """A command left running, in a group of its own so that a test can never hit itself."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**(env or {})),
        start_new_session=True,
        **settings,
    )


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, as the terminal would send it to the command itself."""
    process.send_signal(signal.SIGINT)


def belonging_to(word: str, groups: Set[int] = frozenset()) -> list[psutil.Process]:
    """Every living process that carries the word, or belongs to a group of the twins."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if any(word in part for part in process.cmdline()) or os.getpgid(process.pid) in groups:
                found.append(process)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def nobody_left(word: str, groups: Set[int] = frozenset(), seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while left := belonging_to(word, groups):
        assert time.monotonic() < deadline, [process.cmdline() for process in left]
        time.sleep(0.1)
