"""Takes the numeric fingerprint of this machine, in a process of its own for each thread count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from twinrun.environment.environment import Environment
from twinrun.environment.fingerprint import Fingerprint, Probe, probe_from_json
from twinrun.errors import NotComparable

# The framework and the adapter that runs the probes with it.
PROBERS = {"tensorflow": "twinrun.frameworks.tensorflow.numeric_fingerprint"}
MOST_DEATHS = 20


def take(
    threads: Sequence[int] = (),
    *,
    determinism: bool = True,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> Fingerprint:
    """The fingerprint at the thread count in use, or at each of `threads`."""
    module = next((module for name, module in PROBERS.items() if find_spec(name) is not None), None)
    if module is None:
        raise NotComparable(
            "no framework is installed, so there is nothing to take a fingerprint of",
            hint="pip install tensorflow",
        )
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", **(os.environ if environment is None else environment)}
    taken = [
        _take_one(module, {"threads": count, "determinism": determinism}, variables, timeout)
        for count in threads or (0,)
    ]
    if len(taken) == 1:
        return taken[0]
    probes = tuple(probe for one in taken for probe in one.probes)
    settings = {**taken[0].settings, "threads": [one.settings["threads"] for one in taken]}
    return replace(taken[0], probes=probes, settings=settings, seconds=sum(one.seconds for one in taken))


@dataclass
class _Told:
    """What one process told before it ended, or died."""

    environment: Environment | None = None
    probes: list[Probe] = field(default_factory=list)
    under_way: Probe | None = None
    ended: bool = False


def _take_one(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> Fingerprint:
    """Runs all the probes. One that takes the process down is noted, and the rest are run in a new
    process."""
    started = time.monotonic()
    probes: list[Probe] = []
    environment: Environment | None = None
    for _ in range(MOST_DEATHS):
        told, death = _listen(module, {**settings, "skip": len(probes)}, variables, timeout)
        probes += told.probes
        environment = environment or told.environment
        if told.ended:
            break
        if told.under_way is None:
            raise NotComparable(f"the probes could not be run: {death}")
        probes.append(replace(told.under_way, error=f"the process died of it: {death}"))
    assert environment is not None
    settings = {**settings, "threads": environment.get("framework", "intra_op_threads", 0)}
    return Fingerprint(environment, tuple(probes), settings, round(time.monotonic() - started, 2))


def _listen(
    module: str, settings: Mapping[str, Any], variables: Mapping[str, str], timeout: float
) -> tuple[_Told, str]:
    command = [sys.executable, "-m", module, json.dumps(settings)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=variables, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotComparable(f"the probes did not end within {timeout:g} s") from None
    told = _Told()
    for line in done.stdout.splitlines():
        if not line.startswith('{"'):
            continue
        message = json.loads(line)
        if "environment" in message:
            told.environment = Environment.from_json(message["environment"])
        elif "started" in message:
            told.under_way = probe_from_json(message["started"])
        elif "probe" in message:
            told.probes.append(probe_from_json(message["probe"]))
            told.under_way = None
        told.ended = told.ended or "ended" in message
    if done.returncode < 0:
        return told, signal.Signals(-done.returncode).name
    return told, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
