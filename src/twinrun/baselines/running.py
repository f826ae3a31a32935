"""Runs a program to make or check a baseline: twins that must agree to record one, a single run to check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from twinrun.baselines.kept_run import KeptRun, Sample, from_recording, samples_of
from twinrun.comparison.contract import Contract
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.launch.twin_process import Twin
from twinrun.protocol.intervention import Interventions, Pin
from twinrun.protocol.pin import PinRequest
from twinrun.recording.dump import read_dump
from twinrun.recording.frame import Frame
from twinrun.result import REPEATS, UNDECIDED, CheckResult


@dataclass(frozen=True)
class Running:
    """How a program is run for a baseline."""

    program: Program
    contract: Contract
    steps: int | None = None
    pin: PinRequest | None = None
    timeout: float | None = None

    @property
    def interventions(self) -> Interventions:
        return () if self.pin is None else (Pin(self.pin),)

    def kept(self, recording: Path, samples: tuple[Sample, ...] = ()) -> KeptRun:
        pin = None if self.pin is None else str(self.pin)
        return from_recording(recording, steps=self.steps, pin=pin, samples=samples)


@dataclass
class _Ending:
    """Takes a few values of the tensors that a run ends with, while the twin waits there and can be asked."""

    steps: int | None
    samples: tuple[Sample, ...] = ()

    def __call__(self, twin: Twin, frame: Frame) -> None:
        stopped = self.steps is not None and frame.step >= self.steps
        phases = ("final", "weights") if stopped else ("final",)
        wanted = [place for place in frame.layout.places if place[0] in phases]
        if not wanted:
            return
        file = twin.dump(wanted, twin.folder / "final.safetensors")
        if file is not None and file.is_file():
            self.samples = samples_of(read_dump(file))
            file.unlink()


def observe(running: Running, screen: Screen | None = None) -> KeptRun | CheckResult:
    """One run. A program that failed, or in which no training was observed, gives an undecided result."""
    options = RunOptions(running.program, running.steps, running.interventions, timeout=running.timeout)
    ending = _Ending(running.steps)
    ran = run_once(options, screen, on_frame=ending if running.contract.numeric else None)
    return _failure(ran) or running.kept(ran.recording, ending.samples)


def observe_twins(running: Running, runs: int, screen: Screen | None = None) -> KeptRun | CheckResult:
    """Twins that must repeat under the contract before one of them may become a baseline."""
    options = CheckOptions(
        running.program,
        runs,
        running.steps,
        running.contract,
        running.interventions,
        timeout=running.timeout,
    )
    result = run_check(options, screen)
    if result.verdict != REPEATS:
        return result
    if running.contract.numeric:
        # Values come from one more run: twins in lockstep record digests alone.
        return observe(running, screen)
    return running.kept(Path(result.recordings[0]))


def _failure(ran: RunResult) -> CheckResult | None:
    reason, kind = ran.reason, ran.reason_kind
    if reason is None and ran.frames == 0:
        reason, kind = "no training step was observed", "no-step"
    if reason is None and (not ran.facts.environment or "error" in ran.facts.environment):
        reason, kind = "the environment of the run could not be read", "not-instrumented"
    if reason is None:
        return None
    return CheckResult(
        ran.program,
        UNDECIDED,
        reason,
        kind,
        runs=1,
        environment=ran.facts.environment,
        recordings=(str(ran.recording),),
        output_tail=ran.output_tail,
    )
