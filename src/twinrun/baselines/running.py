"""Runs a program to make or check a baseline: twins that must agree to record one, a single run to check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from twinrun.baselines.kept_run import KeptRun, Sample, ask_for_samples, from_recording
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.launch.twin_process import Twin
from twinrun.recording.frame import Frame
from twinrun.result import REPEATS, UNDECIDED, CheckResult


@dataclass
class _Ending:
    """Takes a few values of the tensors that a run ends with, while the twin waits there and can be asked."""

    steps: int | None
    samples: tuple[Sample, ...] = ()

    def __call__(self, twin: Twin, frame: Frame) -> None:
        stopped = self.steps is not None and frame.step >= self.steps
        phases = ("final", "weights") if stopped else ("final",)
        wanted = [place for place in frame.layout.places if place[0] in phases]
        if wanted:
            self.samples = ask_for_samples(twin, wanted)


def observe(options: CheckOptions, screen: Screen | None = None) -> KeptRun | CheckResult:
    """A run to keep. Several must repeat under the contract first. A program that does not repeat, that failed, or in
    which no training was observed gives the result of a check instead."""
    if options.runs > 1:
        result = run_check(options, screen)
        if result.verdict != REPEATS:
            return result
        if not options.contract.numeric:
            return _kept(options, Path(result.recordings[0]))
        # Values come from one more run: twins in lockstep record digests alone.
    numeric = options.contract.numeric
    once = RunOptions(
        options.program, options.steps, options.interventions, options.timeout, keep_child_values=numeric
    )
    ending = _Ending(options.steps)
    ran = run_once(once, screen, on_frame=ending if numeric else None)
    return _failure(ran) or _kept(options, ran.recording, ending.samples)


def _kept(options: CheckOptions, recording: Path, samples: tuple[Sample, ...] = ()) -> KeptRun:
    pin = None if options.pin is None else str(options.pin)
    return from_recording(recording, steps=options.steps, pin=pin, samples=samples)


def _failure(ran: RunResult) -> CheckResult | None:
    reason, kind = ran.reason, ran.reason_kind
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
