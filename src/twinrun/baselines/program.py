"""Runs a program to make or check a baseline: twins that must agree to record one, a single run to check."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.baselines.observed import Observed, Place, from_recording, place, samples_of
from twinrun.comparison.contract import Contract
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.launch.twin_process import Twin
from twinrun.recording.dump import read_dump
from twinrun.recording.frame import Frame
from twinrun.result import REPEATS, UNDECIDED, CheckResult


@dataclass(frozen=True)
class Running:
    """How a program is run for a baseline."""

    program: Program
    contract: Contract
    steps: int | None = None
    pin: Any = None  # a controls.request.PinRequest
    timeout: float | None = None
    folder: str | None = None

    @property
    def pin_text(self) -> str | None:
        return None if self.pin is None else str(self.pin)


@dataclass
class _Final:
    """Takes a few values of the tensors a run ends with, while the twin stands there and can be asked."""

    steps: int | None
    samples: dict[Place, Any] = field(default_factory=dict)

    def __call__(self, twin: Twin, frame: Frame) -> None:
        stopped = self.steps is not None and frame.step >= self.steps
        wanted = [
            place(frame, entry)
            for entry in range(len(frame.layout))
            if frame.layout.phases[entry] == "final" or (stopped and frame.layout.phases[entry] == "weights")
        ]
        if not wanted:
            return
        file = twin.folder / "final.safetensors"
        answer = twin.ask("dump", entries=[list(where) for where in wanted], file=str(file))
        if "written" in answer and file.is_file():
            self.samples = dict(samples_of(read_dump(file)))
            file.unlink()


def observe(running: Running, screen: Screen | None = None) -> Observed | CheckResult:
    """One run. A program that did not end well, or was not seen to train, gives an undecided result."""
    options = RunOptions(
        running.program, running.steps, running.pin, timeout=running.timeout, folder=running.folder
    )
    final = _Final(running.steps)
    ran = run_once(options, screen, on_frame=final if running.contract.numeric else None)
    trouble = _trouble(ran)
    if trouble is not None:
        return trouble
    observed = from_recording(ran.recording, steps=running.steps, pin=running.pin_text)
    return observed.with_samples(final.samples)


def observe_twice(running: Running, runs: int, screen: Screen | None = None) -> Observed | CheckResult:
    """Twins that must repeat under the contract before one of them may become a baseline."""
    options = CheckOptions(
        running.program, runs, running.steps, running.contract, running.pin,
        timeout=running.timeout, folder=running.folder,
    )  # fmt: skip
    result = run_check(options, screen)
    if result.verdict != REPEATS:
        return result
    if running.contract.numeric:
        # Values are taken from a run of its own: twins in lockstep give away digests alone.
        return observe(replace(running, folder=None), screen)
    return from_recording(Path(result.recordings[0]), steps=running.steps, pin=running.pin_text)


def _trouble(ran: RunResult) -> CheckResult | None:
    reason = ran.reason
    if reason is None and ran.frames == 0:
        reason = "no training step was observed"
    if reason is None and "error" in ran.facts.get("environment", {"error": "missing"}):
        reason = "the environment of the run could not be read"
    if reason is None:
        return None
    return CheckResult(
        ran.program,
        UNDECIDED,
        reason,
        runs=1,
        environment=ran.facts.get("environment", {}),
        recordings=(str(ran.recording),),
        output_tail=ran.output_tail,
    )
