"""Takes the numeric fingerprint of this machine, in a separate process for each thread count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twinrun.environment.capture import installed_framework
from twinrun.environment.environment import Environment, typed
from twinrun.environment.numeric_fingerprint import Fingerprint, Probe
from twinrun.errors import NotComparable

MOST_CRASHES = 20


def take(
    threads: Sequence[int] = (),
    *,
    determinism: bool = True,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> Fingerprint:
    """The fingerprint at the thread count in use, or at each of `threads`."""
    framework = installed_framework()
    if framework is None or not framework.prober:
        raise NotComparable(
            "no framework is installed, so there is nothing to take a fingerprint of",
            hint="pip install tensorflow",
        )
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", **(os.environ if environment is None else environment)}
    taken = [
        _take_one(framework.prober, {"threads": count, "determinism": determinism}, variables, timeout)
        for count in threads or (0,)
    ]
    if len(taken) == 1:
        return taken[0]
    probes = tuple(probe for one in taken for probe in one.probes)
    settings = {**taken[0].settings, "threads": [one.settings["threads"] for one in taken]}
    return replace(taken[0], probes=probes, settings=settings, seconds=sum(one.seconds for one in taken))


@dataclass
class _Answers:
    """What one process printed before it ended or crashed."""

    environment: Environment | None = None
    probes: list[Probe] = field(default_factory=list)
    started: Probe | None = None
    ended: bool = False


def _take_one(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> Fingerprint:
    """Runs all the probes. One that crashes the process is recorded as such, and the rest run in a new process."""
    began = time.monotonic()
    probes: list[Probe] = []
    environment: Environment | None = None
    for _ in range(MOST_CRASHES):
        answers, ending = _run(module, {**settings, "skip": len(probes)}, variables, timeout)
        probes += answers.probes
        environment = environment or answers.environment
        if answers.ended:
            break
        if answers.started is None:
            raise NotComparable(f"the probes could not be run: {ending}")
        probes.append(replace(answers.started, error=f"it crashed the process: {ending}"))
    assert environment is not None
    settings = {**settings, "threads": environment.get("framework", "intra_op_threads", 0)}
    return Fingerprint(environment, tuple(probes), settings, round(time.monotonic() - began, 2))


def _run(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> tuple[_Answers, str]:
    """The answers of one process, and how it ended."""
    command = [sys.executable, "-m", module, json.dumps(settings)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=variables, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotComparable(f"the probes did not end within {timeout:g} s") from None
    answers = _Answers()
    for line in done.stdout.splitlines():
        if not line.startswith('{"'):
            continue
        message = json.loads(line)
        if "environment" in message:
            answers.environment = Environment.from_json(message["environment"])
        elif "started" in message:
            answers.started = typed(message["started"], Probe, "a probe")
        elif "probe" in message:
            answers.probes.append(typed(message["probe"], Probe, "a probe"))
            answers.started = None
        answers.ended = answers.ended or "ended" in message
    if done.returncode < 0:
        return answers, signal.Signals(-done.returncode).name
    return answers, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
