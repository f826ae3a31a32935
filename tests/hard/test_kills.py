"""Processes of a check are killed at random: the command, a twin, its supervisor, what the program started. Whatever was
hit: nothing stays behind, the user's folder is as it was, and the answer is a true one."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import belonging_to, nobody_left, start, write
from twinrun import compare
from twinrun.errors import TwinrunError
from twinrun.recording.manifest import read_manifest
from twinrun.result import CheckResult

# Trains, and so does a child of it; beside it are a helper in its own session and a daemon. Every process says who it is.
PROGRAM = """
import multiprocessing, os, subprocess, sys, time
import numpy as np
import tinynet

folder, word = sys.argv[1:]

def here(role, pid=None):
    open(os.path.join(folder, f"{role}-{pid or os.getpid()}"), "w").close()

def train(steps, role):
    tinynet.seed(1)
    model = tinynet.Line(3)
    for step in range(steps):
        model.train_step(np.linspace(0, 1, 12).reshape(4, 3), np.ones(4))
        here(f"{role}.step.{step}")
        time.sleep(0.01)
    return model.weight

def trains_too():
    here("child")
    train(10, "child")

if __name__ == "__main__":
    here("twin")
    sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", word]
    here("helper", subprocess.Popen(sleep, start_new_session=True).pid)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            here("daemon")
            os.execv(sys.executable, sleep)
        os._exit(0)
    child = multiprocessing.get_context("fork").Process(target=trains_too)
    child.start()
    weight = train(STEPS, "twin")
    child.join()
    with open("weight.txt", "w") as file:
        file.write(repr(weight))
"""
STEPS = 20
ROLES = ("command", "twin", "supervisor", "child", "helper", "daemon")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")


@dataclass(frozen=True)
class Kill:
    """`moment`: a step of a twin, or before there is one, by the share of the time that the start takes."""

    role: str
    signal: str
    moment: float

    @staticmethod
    def chosen(chance: random.Random) -> Kill:
        step = chance.randrange(STEPS)
        return Kill(
            chance.choice(ROLES), chance.choice(SIGNALS), step if step else -1.2 * chance.random() or -1.0
        )


@dataclass
class Scene:
    folder: Path
    env: dict[str, str | None]
    start_seconds: float = 1.0
    hit: str = "nobody"

    def check(self, kill: Kill | None) -> tuple[int, str]:
        """The exit code, and what was printed."""
        (self.folder / "program").mkdir(parents=True)
        self.roles.mkdir()
        program = write(self.folder / "program", PROGRAM.replace("STEPS", str(STEPS)))
        (program.parent / "weight.txt").write_text("as it was")
        before = _contents(program.parent)
        command = start(
            "check", "--no-diagnose", "--output-format", "json", "--dir", self.state, program, self.roles, self.word,
            env=self.env, cwd=program.parent,
        )  # fmt: skip
        began = time.monotonic()
        if kill is None:
            self._wait_for_step(command, 0)
            self.start_seconds = time.monotonic() - began
        else:
            self._send(command, kill, began)
        out, err = command.communicate(timeout=120)
        if kill is not None and (self.hit, kill.signal) == ("supervisor", "SIGKILL"):
            # Who is in a session of its own can be found by nobody then.
            for process in belonging_to(self.word):
                if "sleep" in " ".join(process.cmdline()):
                    process.kill()
        nobody_left(self.word)
        assert "Traceback" not in err or (kill is not None and kill.signal == "SIGINT"), err
        assert _contents(program.parent) == before, "the user's folder was changed"
        return command.returncode, out

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def roles(self) -> Path:
        return self.folder / "roles"

    @property
    def word(self) -> str:
        return f"word-{self.folder.name}-{id(self)}"

    def _send(self, command: subprocess.Popen[str], kill: Kill, began: float) -> None:
        if kill.moment < 0:
            time.sleep(max(0.0, began - kill.moment * self.start_seconds - time.monotonic()))
        else:
            self._wait_for_step(command, int(kill.moment))
        found = self._processes(command)
        role = kill.role if kill.role in found else "command"
        if command.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                found[role].send_signal(getattr(signal, kill.signal))
                self.hit = role

    def _wait_for_step(self, command: subprocess.Popen[str], step: int) -> None:
        while command.poll() is None and not list(self.roles.glob(f"twin.step.{step}-*")):
            time.sleep(0.005)

    def _processes(self, command: subprocess.Popen[str]) -> dict[str, psutil.Process]:
        """One of each role that is there."""
        found: dict[str, psutil.Process] = {}
        try:
            found["command"] = psutil.Process(command.pid)
            for supervisor in found["command"].children():
                if any("supervise.py" in word for word in supervisor.cmdline()):
                    found["supervisor"] = supervisor
                    for twin in supervisor.children():
                        if self.word in twin.cmdline() and "train.py" in " ".join(twin.cmdline()):
                            found.setdefault("twin", twin)
            for entry in self.roles.iterdir():
                role, _, pid = entry.name.rpartition("-")
                if role in ("child", "helper", "daemon") and psutil.pid_exists(int(pid)):
                    found[role] = psutil.Process(int(pid))
        except psutil.NoSuchProcess:
            pass
        return found


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }


def judged(scene: Scene, kill: Kill, code: int, out: str) -> str:
    """The answer in words; fails where it is none that may follow."""
    hit = scene.hit
    number = getattr(signal, kill.signal)
    document = json.loads(out) if out else {}
    verdict, kind = document.get("verdict"), document.get("reason_kind")
    answer = f"{code} {verdict}[{kind}]" if verdict else str(code)
    twins = [scene.state / name for name in "AB"]
    if hit == "command":
        if number == signal.SIGKILL:
            assert code == -signal.SIGKILL, answer
        elif code != -number:  # before it listens to signals
            assert code == 128 + number, answer
            assert (verdict, kind) in (("undecided", "interrupted"), ("repeats", None)), answer
    elif hit in ("helper", "daemon", "nobody") or (hit == "supervisor" and number != signal.SIGKILL):
        assert (code, verdict) == (0, "repeats"), answer
    elif hit == "child" and number == signal.SIGINT:
        assert verdict in ("repeats", "diverges", "undecided"), answer  # it ended early, and properly
    elif code == 0:
        ended = [read_manifest(twin) for twin in twins]
        assert verdict == "repeats" and all(each.status == "ended" for each in ended), answer
    else:
        # Ctrl-C in an exit handler ends that, and not the program.
        kinds = ("abrupt-exit",) if hit == "child" else ("crashed", "abrupt-exit")
        assert code == 2 and kind in kinds, answer
    return answer


def left_in_good_order(scene: Scene, kill: Kill) -> None:
    """What is in the folder of recordings can be read, or is refused in words."""
    names = [path.name for path in scene.state.rglob("*")] if scene.state.is_dir() else []
    assert "spec.json" not in names, "spec.json was left behind"
    if scene.hit != "command" or kill.signal != "SIGKILL":
        assert not [name for name in names if name.startswith("twinrun-views-")], "a view was left behind"
    saved = scene.state / "result.json"
    if saved.is_file():
        CheckResult.from_json(json.loads(saved.read_text()))
    try:
        found = compare(scene.state / "A", scene.state / "B")
        assert found.verdict != "diverges" or scene.hit == "child", f"diff: {found.reason}"
    except TwinrunError:
        pass


def test_kills(
    pytestconfig: pytest.Config, chance: random.Random, tmp_path: Path, tinynet: Any, figures: Any
) -> None:
    count = pytestconfig.getoption("--kills")
    whole = Scene(tmp_path / "whole", tinynet)
    assert whole.check(None)[0] == 0
    answers: Counter[str] = Counter()
    failures = []
    for number in range(1, count + 1):
        kill = Kill.chosen(chance)
        scene = Scene(tmp_path / str(number), tinynet, whole.start_seconds)
        try:
            code, out = scene.check(kill)
            answer = judged(scene, kill, code, out)
            left_in_good_order(scene, kill)
        except (AssertionError, subprocess.TimeoutExpired, ValueError) as problem:
            failures.append(f"{number}: {kill}, hit {scene.hit}: {problem}")
            answer = "WRONG"
            print(failures[-1], flush=True)
        answers[f"{kill.signal} to {scene.hit}: {answer}"] += 1
    figures(kills=count, wrong=len(failures), **dict(sorted(answers.items())))
    assert not failures, "\n".join(failures)
