"""Takes the numeric fingerprint of this machine, in a separate process for each thread count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class _Message:
    """A line that the process prints: one of these."""

    environment: Environment | None = None
    started: Probe | None = None
    probe: Probe | None = None
    ended: int | None = None


def _take_one(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> Fingerprint:
    """Runs all the probes. One that crashes the process is recorded as such, and the rest run in a new process."""
    began = time.monotonic()
    probes: list[Probe] = []
    environment: Environment | None = None
    for _ in range(MOST_CRASHES):
        messages, ending = _run(module, {**settings, "skip": len(probes)}, variables, timeout)
        environment = environment or next((each.environment for each in messages if each.environment), None)
        probes += [each.probe for each in messages if each.probe is not None]
        last = messages[-1] if messages else _Message()
        if last.ended is not None:
            break
        if last.started is None:
            raise NotComparable(f"the probes could not be run: {ending}")
        probes.append(replace(last.started, error=f"it crashed the process: {ending}"))
    assert environment is not None
    settings = {**settings, "threads": environment.get("framework", "intra_op_threads", 0)}
    return Fingerprint(environment, tuple(probes), settings, round(time.monotonic() - began, 2))


def _run(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> tuple[list[_Message], str]:
    """What one process printed, and how it ended."""
    command = [sys.executable, "-m", module, json.dumps(settings)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=variables, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotComparable(f"the probes did not end within {timeout:g} s") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"')]
    messages = [typed(json.loads(line), _Message, "an answer of a probe") for line in lines]
    if done.returncode < 0:
        return messages, signal.Signals(-done.returncode).name
    return messages, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
