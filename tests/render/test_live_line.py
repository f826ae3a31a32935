"""What the live line says, at any moment of a check."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import PLAIN, on_a_terminal, write
from twinrun.cli.progress import LiveLine


@pytest.fixture
def line() -> Iterator[LiveLine]:
    live = LiveLine(lambda _: None)
    yield live
    live.close()


def twins(now: float, *steps: int) -> Any:
    return [
        SimpleNamespace(name=name, step=step, last_message=now, doing="")
        for name, step in zip("AB", steps, strict=True)
    ]


def test_it_has_a_clock_from_the_beginning_on(line: LiveLine) -> None:
    now = time.monotonic()
    assert line.line(now + 0.5) == "0:00  before the first step"
    assert line.line(now + 75.5).startswith("1:15  ")
    assert line.line(now + 3675.5).startswith("1:01:15  ")


def test_it_shows_the_steps_of_both_twins_and_how_fast_they_come(line: LiveLine) -> None:
    now = time.monotonic()
    pair = twins(now, 1, 0)
    line.twins(pair)
    line.tick(SimpleNamespace(steps=0))  # type: ignore[arg-type]
    assert line.line(now).endswith("A step 1, B step 0")
    pair[0].step = pair[1].step = 41
    line.tick(SimpleNamespace(steps=40))  # type: ignore[arg-type]
    assert line.line(now + 8).endswith("A step 41, B step 41 · 40 compared · 5.1/s")
    pair[1].last_message = now - 4
    assert "B step 41 (silent for 12 s)" in line.line(now + 8)


def test_it_says_what_is_tried_and_how_much_time_is_left(line: LiveLine) -> None:
    now = time.monotonic()
    line.say("trying 2 of about 4: with random.random frozen", now + 90)
    assert line.line(now + 0.5).startswith(
        "0:00, 1:29 left  trying 2 of about 4: with random.random frozen  "
    )
    assert ", 0:00 left" in line.line(now + 100)


def test_it_says_what_a_twin_does_that_is_not_the_programs(line: LiveLine) -> None:
    now = time.monotonic()
    pair = twins(now, 0, 0)
    line.twins(pair)
    pair[1].doing = "compiling the digest of 588 variables on the GPU"
    assert line.line(now).split("  ")[1:] == [pair[1].doing, "before the first step"]


def test_a_name_cannot_write_to_the_terminal(line: LiveLine) -> None:
    line.say("trying: \x1b[2J\n")
    assert "\\x1b[2J\\n" in line._drawn().plain and line._drawn().no_wrap


@pytest.mark.usefixtures("tinynet")
def test_on_a_terminal_the_verdict_is_there_while_the_cause_is_looked_for(tmp_path: Path) -> None:
    program = write(tmp_path, f"import random\n{PLAIN}\ntrain(3, batch=lambda step, x: x * random.random())")
    coloured = on_a_terminal("check", program, columns=100, cwd=tmp_path)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert shown.count("diverges at step 1, phase batch") == 1
    before, _, after = shown.partition("diverges at step 1, phase batch")
    assert "before the first step" in before and "trying" not in before
    tried = re.search(r"\d:\d\d, \d:\d\d left  trying 1 of about \d+: ", after)
    assert tried is not None and "error[TW101]" in after[tried.end() :]
