"""One recorded run, on its own. The program's output goes to our own terminal, as without us."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.launch.folders import new_folder
from twinrun.launch.lockstep import advance
from twinrun.launch.options import Screen
from twinrun.launch.pin_outcome import noticed, refusals, remarks, strictly_missing
from twinrun.launch.program import Program
from twinrun.launch.stdin import StdinCopy
from twinrun.launch.twin_process import Twin, ending
from twinrun.launch.vary import NO_VARIATION, Variation
from twinrun.recording.frame import Frame
from twinrun.twin.refusal import without_refused


@dataclass(frozen=True)
class RunOptions:
    program: Program
    steps: int | None = None
    pin: Any = None
    variation: Variation = NO_VARIATION
    timeout: float | None = None
    detail: bool = False
    keep_values: bool = False
    folder: str | None = None


@dataclass(frozen=True)
class RunResult:
    program: str
    recording: Path
    steps: int
    frames: int
    exit_code: int
    reason: str | None
    seconds: float
    facts: dict[str, Any]
    output_tail: str | None = None
    findings: tuple[Finding, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": "twinrun/run/1",
            "program": self.program,
            "recording": str(self.recording),
            "steps": self.steps,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "findings": [finding.as_json() for finding in self.findings],
            "controls": self.facts.get("controls", {}),
            "environment": self.facts.get("environment", {}),
            "notes": self.facts.get("notes", []),
            "timing": {"seconds": self.seconds},
        }


def run_once(
    options: RunOptions, screen: Screen | None = None, on_frame: Callable[[Twin, Frame], None] | None = None
) -> RunResult:
    """`on_frame` is called while the twin stands at a frame, and may ask it for more."""
    options.program.must_exist()
    folder = new_folder("run", options.folder)
    result = _run(options, folder, screen or Screen(), on_frame)
    if options.pin is not None and (again := without_refused(options.pin, result.findings)) is not None:
        said = [f"went on without op determinism: {finding.message}" for finding in result.findings]
        result = _run(replace(options, pin=again), folder / "again", screen or Screen(), on_frame)
        result.facts["notes"] = said + result.facts.get("notes", [])
    return result


def _run(
    options: RunOptions, folder: Path, screen: Screen, on_frame: Callable[[Twin, Frame], None] | None
) -> RunResult:
    environment: dict[str, str] = {}
    if options.pin is not None:
        from twinrun.twin.pinning import launch_environment

        environment.update(launch_environment(options.pin))
    varied = options.variation.for_twin(1)
    environment.update(varied.environment)
    started = time.monotonic()
    twin = Twin(
        "A", options.program, folder / "A", stdin=StdinCopy.shared(),
        environment=environment, lockstep=on_frame is not None, steps=options.steps, detail=options.detail,
        keep_values=options.keep_values, varied=varied.settings,
        pin=options.pin.as_json() if options.pin is not None else None,
    )  # fmt: skip
    try:
        from twinrun.comparison.contract import BITWISE
        from twinrun.comparison.judge import Judge

        judge = Judge(BITWISE, [twin])
        screen.twins([twin])

        def look(frames: list[Any]) -> bool:
            judge.frames, judge.steps = judge.frames + 1, frames[0].step
            if on_frame is not None:
                on_frame(twin, frames[0])
            return False

        deadline = started + options.timeout if options.timeout else None
        outcome = advance([twin], look, deadline=deadline, tick=lambda: screen.tick(judge))
        code, reason = _ending(twin, outcome.kind, options, judge.frames)
    finally:
        twin.kill()
        screen.close()
    tail = twin.tail() if reason else None
    if twin.trouble is not None and twin.trouble.get("traceback"):
        tail = twin.trouble["traceback"]
    facts = twin.end or {}
    facts["notes"] = facts.get("notes", []) + remarks(options.pin, facts.get("controls", {}))
    missing = strictly_missing(options.pin, facts.get("controls", {}))
    if missing is not None and code == 0:
        code, reason = 2, missing
    return RunResult(
        str(options.program), folder / "A", judge.steps, judge.frames, code, reason,
        round(time.monotonic() - started, 3), facts, tail, refusals(noticed([facts])),
    )  # fmt: skip


def _ending(twin: Twin, kind: str, options: RunOptions, frames: int) -> tuple[int, str | None]:
    if twin.trouble is not None:
        return 2, f"the run could not be watched: {twin.trouble.get('message')}"
    if kind == "timeout":
        return 2, f"no end within {options.timeout:g} s: at step {twin.step}"
    code = twin.wait(timeout=30.0)
    if code is None:
        return 2, f"the program had ended its steps and did not exit within 30 s: at step {twin.step}"
    if code:
        return (code if code > 0 else 128 - code), f"the program {ending(code)}"
    if frames == 0:
        return 0, "no training step was observed"
    return 0, None
