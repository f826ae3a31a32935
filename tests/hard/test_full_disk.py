"""The disk that recordings go to fills up in the midst of a check, at a moment that its size decides."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support import COMMAND, environment, nobody_left, write

PROGRAM = """
import numpy as np
import tinynet
tinynet.seed(1)
model = tinynet.Line(40)
for step in range(600):
    model.train_step(np.linspace(0, 1, 160).reshape(4, 40), np.ones(4))
print(model.weight.sum())
"""
# A user may mount a file system in namespaces of its own; where that is not allowed there is nothing to test with.
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
LEAST, ENOUGH = 16, 20_000  # KB


def on_a_disk(
    kilobytes: int, place: Path, command: list[str], env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    mount = f"mount -t tmpfs -o size={kilobytes}k tmpfs {shlex.quote(str(place))}"
    return subprocess.run(
        [*NAMESPACE, "sh", "-c", f"{mount} && exec {shlex.join(command)}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=env, check=False,
    )  # fmt: skip


def test_full_disk(
    pytestconfig: pytest.Config, chance: random.Random, tmp_path: Path, tinynet: Any, figures: Any
) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    if on_a_disk(100, place, ["true"], environment()).returncode != 0:
        pytest.skip("no file system can be mounted here")
    (tmp_path / "program").mkdir()
    program = write(tmp_path / "program", PROGRAM)
    env = environment(**{**tinynet, "TWINRUN_HOME": str(place)})
    count = pytestconfig.getoption("--fills")
    answers: Counter[str] = Counter()
    failures = []
    for number in range(count):
        size = int(LEAST * (ENOUGH / LEAST) ** (chance.random() if number else 1.0))
        word = f"word-{tmp_path.name}-{os.getpid()}-{number}"
        command = [*COMMAND, "check", "--no-diagnose", "--output-format", "json", str(program), word]
        done = on_a_disk(size, place, command, env)
        try:
            nobody_left(word)
            answers[judged(done)] += 1
            assert number or done.returncode == 0, "there was room enough"
        except (AssertionError, ValueError) as problem:
            failures.append(f"{size} KB: {problem}\n{done.stdout}\n{done.stderr}")
            print(failures[-1], flush=True)
    figures(fills=count, wrong=len(failures), **dict(sorted(answers.items())))
    assert not failures, "\n".join(failures)


def judged(done: subprocess.CompletedProcess[str]) -> str:
    """The answer in words: what could be recorded repeats, and where it could not, one line says so."""
    assert "Traceback" not in done.stderr
    if not done.stdout:
        assert done.returncode == 2 and done.stderr.startswith("error: "), done.returncode
        return "2 refused"
    document = json.loads(done.stdout)
    answer = f"{done.returncode} {document['verdict']}[{document['reason_kind']}]"
    assert (done.returncode, document["verdict"]) in ((0, "repeats"), (2, "undecided")), answer
    return answer
