"""However a check comes to its end, no process of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import click
import psutil
import pytest

from support import belonging_to, nobody_left, start, twinrun, write
from twinrun import interrupt
from twinrun.cli.group import cli

# A program with children of every usual kind, each of which carries a word by which it can be found again. It never
# ends by itself, and shrugs off the signals that can be shrugged off.
FAMILY = """
import multiprocessing, os, signal, subprocess, sys, threading, time
def sleep(word):
    time.sleep(600)
if __name__ == "__main__":
    word = sys.argv[1]
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", word])
    subprocess.Popen(["sh", "-c", f"sleep 600; echo {word}"])
    for method in ("spawn", "fork"):
        multiprocessing.get_context(method).Process(target=sleep, args=(word,), daemon=method == "fork").start()
    if os.fork() == 0:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", word])
        os._exit(0)
    if os.fork() == 0:  # a daemon, whose parent is gone before long
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-I", "-c", "import time; time.sleep(600)", word])
        os._exit(0)
    subprocess.Popen(["sh", "-c", f"sleep 600; echo {word}"], start_new_session=True, env={})
    import twinrun
    twinrun.probe("x", [1])
    open(os.path.join(sys.argv[2], str(os.getpid())), "w").close()
    if sys.argv[3] == "end":
        os._exit(0)
    threading.Event().wait()
"""


def started(ready: Path, count: int, seconds: float = 60.0) -> set[int]:
    """The process groups of the twins, once all of them have said that they are there."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = {int(entry.name) for entry in ready.iterdir()}
        if len(found) == count:
            return found
        time.sleep(0.05)
    raise AssertionError("the twins did not start")


@pytest.fixture
def family(tmp_path: Path) -> tuple[Path, Path, str]:
    for name in (
        "ready",
        "program",
    ):  # where each twin has its own files, nobody else would see that it is ready
        (tmp_path / name).mkdir()
    return (
        write(tmp_path / "program", FAMILY),
        tmp_path / "ready",
        f"word-{os.getpid()}-{time.monotonic_ns()}",
    )


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_nothing_is_left_when_the_command_is_stopped(
    family: tuple[Path, Path, str], how: str, verb: str, tmp_path: Path
) -> None:
    program, ready, word = family
    folder = tmp_path / "out"
    command = start(verb, "--output-format", "json", "--dir", folder, program, word, ready, "stay")
    groups = started(ready, 2 if verb == "check" else 1)
    assert len(belonging_to(word, groups)) >= 7 * len(groups)
    command.send_signal(getattr(signal, how))
    out, err = command.communicate(timeout=90)
    nobody_left(word, groups)
    assert not [*folder.rglob("spec.json")]
    if how == "SIGKILL":
        assert command.returncode == -signal.SIGKILL
        return
    assert command.returncode == 128 + getattr(signal, how), "1 would say that the twins diverge"
    assert "Traceback" not in err
    result = json.loads(out)
    assert result["reason_kind"] == "interrupted"
    assert result["reason"] == f"interrupted by {how} before the first step"
    assert not [*folder.glob("twinrun-views-*")]
    if verb == "check":
        assert result["verdict"] == "undecided"
        assert json.loads(twinrun("report", "--output-format", "json", folder / "result.json").out) == result


@pytest.mark.parametrize("options", [("check",), ("check", "--sequential"), ("run",)])
def test_nothing_is_left_after_a_timeout(family: tuple[Path, Path, str], options: tuple[str, ...]) -> None:
    program, ready, word = family
    for seconds in (4, 16, 64):  # a busy machine may take longer to start all of them
        assert twinrun(*options, "--timeout", f"{seconds}s", program, word, ready, "stay").code == 2
        groups = {int(entry.name) for entry in ready.iterdir()}
        nobody_left(word, groups)
        if groups:
            return
    pytest.fail("the program was never ready")


def test_nothing_is_left_of_a_program_that_ends_before_its_children(family: tuple[Path, Path, str]) -> None:
    program, ready, word = family
    assert twinrun("check", "--no-diagnose", program, word, ready, "end").code == 0
    groups = {int(entry.name) for entry in ready.iterdir()}
    nobody_left(word, groups)


def past_start_up(process: int) -> None:
    """Python itself has started: an interruption before that is Python's to answer."""
    deadline = time.monotonic() + 60
    while sum(psutil.Process(process).cpu_times()[:2]) < 0.1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_command_can_be_stopped_while_the_twins_start(tmp_path: Path) -> None:
    program = write(tmp_path, "import time\ntime.sleep(600)")
    word = f"word-{time.monotonic_ns()}"
    for delay in (0.3, 0.6, 0.9):
        command = start("check", program, word)
        past_start_up(command.pid)
        time.sleep(delay)
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=90)
        assert command.returncode in (130, -signal.SIGINT)  # the latter before there is anything to stop
        nobody_left(word, set())


def test_an_interruption_that_an_import_turns_into_another_error_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def invoke(*_: object) -> None:
        interrupt._pending.append(interrupt.Interrupted())
        raise ImportError("numpy._core.umath failed to import")

    monkeypatch.setattr(interrupt, "_pending", [])
    monkeypatch.setattr(click.Group, "invoke", invoke)
    assert cli.main(["doctor"], prog_name="twinrun", standalone_mode=False) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_recording_that_was_stopped_says_so(family: tuple[Path, Path, str], tmp_path: Path) -> None:
    program, ready, word = family
    command = start("run", "--dir", tmp_path / "out", program, word, ready, "stay")
    groups = started(ready, 1)
    command.send_signal(signal.SIGKILL)
    command.communicate()
    nobody_left(word, groups)
    answer = subprocess.run(
        ["cat", str(tmp_path / "out" / "A" / "manifest.json")], capture_output=True, text=True, check=True
    ).stdout
    assert '"status": "running"' in answer
    assert twinrun("diff", tmp_path / "out" / "A", tmp_path / "out" / "A").code == 2
