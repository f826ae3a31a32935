"""The command line asked about files of strangers: in this process, which is quick, or in one whose time and memory are
measured."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support import COMMAND, Answer, environment
from twinrun.cli import options
from twinrun.cli.group import run

SECONDS, MEGABYTES = 5, 500  # that a refusal may take


def asked(*words: str | Path) -> Answer:
    """An exception that is no error of ours comes through, and fails the test."""
    options.project_table.cache_clear()
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before, sys.argv = sys.argv, ["twinrun", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run()
    finally:
        sys.argv = before
        options.project_table.cache_clear()
    out.flush()
    return Answer(code, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]


def refusal(answer: Answer) -> str:
    """The one error, with nothing on stdout."""
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.message.startswith("error: ") and answer.err.count("error: ") == 1, answer.err
    assert len(answer.err) < 2000
    return answer.err


def refused(*words: str | Path) -> str:
    return refusal(asked(*words))


def refused_cheaply(*words: str | Path) -> str:
    """The same in a process of its own. The limit of time is on what it computes: others may use the machine."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*COMMAND, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment()
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        answer = Answer(process.returncode, out.read().decode(), err.read().decode())
    assert used.ru_utime + used.ru_stime <= SECONDS and used.ru_maxrss / 1024 <= MEGABYTES, used
    return refusal(answer)
