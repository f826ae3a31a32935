"""The command line asked about files of strangers: in this process, which is quick, or in one whose time and memory are
measured."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
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
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURED, *COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    code, out, err, seconds, kilobytes = json.loads(ran.stdout)
    assert seconds <= SECONDS and kilobytes / 1024 <= MEGABYTES, (seconds, kilobytes)
    return refusal(Answer(code, out, err))


# In a process between, as a new process counts the memory of the one that started it as its own.
_MEASURED = """
import json, resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([ran.returncode, ran.stdout, ran.stderr, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
