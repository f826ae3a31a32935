"""Whether a program that was started again failed on what the stopped run left, and why one could not be stopped as it saved."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from twinrun.launch.options import Screen
from twinrun.launch.program import Program
from twinrun.protocol.facts import Facts, Failure
from twinrun.resume.failed_restart import lacking
from twinrun.resume.one_stop import OneStop, Unjudged
from twinrun.resume.options import ResumeOptions
from twinrun.resume.outcome import Stop

OS = ["OSError", "Exception"]


def apart(path: str) -> bool:
    return Path(path).is_relative_to("/program") or Path(path).is_relative_to(Path.cwd())


@pytest.mark.parametrize(
    ("kinds", "text", "lacks"),
    [
        (["FileExistsError", *OS], "[Errno 17] File exists: 'out'", False),
        (["FileExistsError", *OS], "[Errno 17] File exists: '/tmp/lock'", True),
        (["FileNotFoundError", *OS], "[Errno 2] No such file or directory: '/program/a b/c'", False),
        (OS, "[Errno 98] Address already in use", True),
        (["ConnectionRefusedError", "ConnectionError", *OS], "refused by localhost", True),
        (OS, "[Errno 28] No space left on device: '/program/saved.h5'", True),
        (["MemoryError"], "Unable to allocate 3 GiB", True),
        (["ResourceExhaustedError", "OpError"], "OOM when allocating tensor", True),
        (["UnavailableError", "OpError"], "failed to connect to all addresses", True),
        (OS, "Unable to synchronously open file (truncated file: eof = 96)", False),
        (["JSONDecodeError", "ValueError"], "Expecting value: line 1 column 1", False),
        (["DataLossError", "OpError"], "Unable to open table file /program/ckpt-1.index: truncated", False),
        (["DataLossError", "OpError"], "Unable to open table file /data/ckpt-1.index: truncated", True),
        (["ValueError"], "Layer count mismatch", False),
    ],
)
def test_a_failure_is_the_stops_doing_unless_it_is_about_something_else(
    kinds: list[str], text: str, lacks: bool
) -> None:
    found = lacking(1, Facts(failure=Failure(kinds, text)), apart)
    assert (found is not None) == lacks, found
    assert found is None or text in found


def test_an_exit_without_an_exception_is_taken_as_it_is_and_a_signal_is_not() -> None:
    assert lacking(3, Facts(), apart) is None
    assert lacking(-9, Facts(), apart) == "was ended by signal 9 (SIGKILL)"


@pytest.mark.parametrize(
    ("code", "timeout", "kind", "says"),
    [
        (3, None, "crashed", "the run to be stopped ended with exit code 3 after step 7"),
        (None, 1e-9, "timeout", "no end of the run to be stopped within"),
        (0, None, "no-checkpoint", "it wrote no file this time"),
    ],
)
def test_why_a_save_was_never_seen(code: int | None, timeout: float | None, kind: str, says: str) -> None:
    twin: Any = SimpleNamespace(
        ended=code is not None, frames=[], trouble=None, step=7, go=lambda: None, wait=lambda _: code,
        readable=lambda: False, tail=lambda: "the last line",
    )  # fmt: skip
    alone: Any = SimpleNamespace(folder=Path(), saved=lambda _: {})
    options = ResumeOptions(Program("train.py"), "save", timeout=timeout)
    with pytest.raises(Unjudged) as found:
        OneStop(options, alone, Screen(), Stop(8, during_save=True))._kill_in_save(twin, {})
    assert (found.value.reason.kind, found.value.tail) == (kind, "the last line")
    assert says in found.value.reason.message
