"""Stops that run side by side: as many as there is room for, in their order, and none left behind."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import interrupt, nobody_left, start, write
from twinrun.launch.folders import Place
from twinrun.launch.options import Screen
from twinrun.launch.program import Program
from twinrun.result import Reason
from twinrun.resume import run
from twinrun.resume.options import At, ResumeOptions
from twinrun.resume.outcome import Stop

SLOW = """
import json, pathlib, time
import numpy as np
import tinynet

tinynet.seed(1)
model = tinynet.Line(3)
for step in range(12):
    time.sleep(0.25)
    model.train_step(np.ones((4, 3)), np.ones(4))
    if step % 4 == 3:
        pathlib.Path("saved.json").write_text(json.dumps(model.weight.tolist()))
"""


class Lines(Screen):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str, deadline: float | None = None) -> None:
        self.said.append(text)


def search(tmp_path: Path, screen: Screen, at: At = "checkpoints") -> run.Search:
    return run.Search(ResumeOptions(Program("train.py"), at=at), Place(tmp_path, ()), screen)


def alone(*shared: str) -> Any:
    return SimpleNamespace(shared_files=lambda: list(shared), facts=[])


def test_two_stops_are_under_way_at_once_and_are_reported_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, second_is_done = threading.Barrier(2), threading.Event()

    class Meeting:
        def __init__(self, _: Any, __: Any, screen: Screen, found: Stop, which: str) -> None:
            self.screen, self.found, self.which = screen, found, which

        def run(self) -> tuple[Stop, Reason | None]:
            self.screen.say(self.which)
            both.wait(60)
            if self.found.at == 5:
                assert second_is_done.wait(60)
            else:
                second_is_done.set()
            return self.found, Reason("crashed", f"at {self.found.at}")

    monkeypatch.setattr(run, "OneStop", Meeting)
    monkeypatch.setattr(run, "twins_at_once", lambda: 2)
    screen = Lines()
    found = search(tmp_path, screen)
    found.stop_at((5, 10), alone(), taken=7.0)
    assert [stop.at for stop in found.stops] == [5, 10]
    assert found.result("undecided", found.unknown).reason == "at 5"
    assert sorted(screen.said) == ["stop 1 of 2, about 7 s left", "stop 2 of 2, about 7 s left"]


@pytest.mark.parametrize(("at", "shared"), [("save", ()), ("checkpoints", ("/data/saved.json",))])
def test_stops_that_could_meet_are_made_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: At, shared: tuple[str, ...]
) -> None:
    under_way: list[int] = []

    class Alone:
        def __init__(self, _: Any, __: Any, ___: Any, found: Stop, ____: str) -> None:
            self.found = found

        def run(self) -> tuple[Stop, Reason | None]:
            under_way.append(self.found.at)
            time.sleep(0.01)
            assert under_way == [self.found.at]
            under_way.clear()
            return self.found, None

    monkeypatch.setattr(run, "OneStop", Alone)
    found = search(tmp_path, Screen(), at)
    found.stop_at((5, 10, 15), alone(*shared), taken=7.0)
    assert [stop.at for stop in found.stops] == [5, 10, 15]


@pytest.mark.usefixtures("tinynet")
def test_interrupted_while_two_are_under_way_it_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program, word = write(tmp_path / "work", SLOW), f"word-{os.getpid()}-{time.monotonic_ns()}"
    words = ("resume", "--output-format", "json", "--dir", tmp_path / "kept", program, word)
    process = start(*words, cwd=tmp_path / "work")
    while not all((tmp_path / "kept" / name).is_dir() for name in ("stopped-4", "stopped-8")):
        assert process.poll() is None
        time.sleep(0.02)
    interrupt(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert '"reason_kind": "interrupted"' in out and "Traceback" not in err
    nobody_left(word)
