"""One recorded run, on its own. The program's output goes to its recording."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from twinrun.comparison.contract import BITWISE
from twinrun.comparison.judge import Judge
from twinrun.findings.finding import Finding
from twinrun.interrupt import Interrupted, raise_pending
from twinrun.launch.children import children_of, with_children
from twinrun.launch.folders import recordings
from twinrun.launch.interventions import setup_for
from twinrun.launch.lockstep import advance
from twinrun.launch.no_step import no_step
from twinrun.launch.options import Screen
from twinrun.launch.pin_outcome import noticed, refusals, remarks, strictly_missing, without_refused
from twinrun.launch.program import Program
from twinrun.launch.twin_process import NO_END, Twin, ending, not_instrumented
from twinrun.launch.view_store import ViewStore
from twinrun.launch.views import WAYS, Way
from twinrun.masking import Masked
from twinrun.notebooks.places import placed
from twinrun.protocol import Facts, Intervened, Interventions
from twinrun.recording.frame import Frame
from twinrun.result import Reason, ReasonKind

SCHEMA = "twinrun/run/1"
OnFrame = Callable[[Twin, Frame], None]  # called while the twin stands at a frame, and may ask it for more


@dataclass(frozen=True)
class RunOptions(Intervened):
    program: Program
    steps: int | None = None
    interventions: Interventions = ()
    timeout: float | None = None
    detail: bool = False
    keep_values: bool = False
    keep_child_values: bool = False
    folder: str | None = None
    keep: bool = False
    audit_until: float | None = None  # audit its datasets and record no events
    read_output: bool = False  # what it prints is read and then removed, not kept
    own_view: bool = False  # of the user's folder: it starts from the files there, and leaves none


@dataclass(frozen=True)
class RunResult(Masked):
    AS_IS: ClassVar[tuple[str, ...]] = (
        "recording",
        "facts",
        "reason_kind",
        "view",
    )  # facts are masked in the process that reports them
    program: str
    recording: Path
    steps: int
    exit_code: int
    reason: str | None
    reason_kind: ReasonKind | None
    seconds: float
    facts: Facts
    output_tail: str | None = None
    findings: tuple[Finding, ...] = ()
    children: int = 0  # processes that it started and that trained, or may have
    view: Way = "shared"

    @property
    def in_place(self) -> str | None:
        """What to report where a view of its own was asked for and there was none."""
        shared = self.view == "shared"
        return (
            "the program ran in the folder itself: no overlay or copy of it was possible" if shared else None
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "program": self.program,
            "recording": str(self.recording),
            "steps": self.steps,
            "children": self.children,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "reason_kind": self.reason_kind,
            "findings": msgspec.to_builtins(self.findings),
            "controls": msgspec.to_builtins(self.facts.controls, enc_hook=str),
            "environment": self.facts.environment,
            "notes": self.facts.notes,
            "timing": {"seconds": self.seconds},
        }


def run_once(options: RunOptions, screen: Screen | None = None, on_frame: OnFrame | None = None) -> RunResult:
    options.program.must_exist()
    screen = screen or Screen()
    secrets = None if options.read_output else options.program.secrets
    with (
        recordings("run", options.folder, keep=options.keep, secrets=secrets) as place,
        ViewStore(place.folder) as store,
    ):
        result = _run(options, place.folder, store, screen, on_frame)
        if (again := without_refused(options, result.findings)) is not None:
            interventions, notes = again
            changed = replace(options, interventions=interventions)
            result = _run(changed, place.folder / "again", store, screen, on_frame)
            result.facts.notes[:0] = notes
        result.facts.notes += place.notes
        return result


def _run(
    options: RunOptions, folder: Path, store: ViewStore, screen: Screen, on_frame: OnFrame | None
) -> RunResult:
    started = time.monotonic()
    program, setup = options.program, setup_for(1, options.interventions)
    views = store.views(program, {}, ways=WAYS if options.own_view else ("shared",))
    program, setup = views.start("A", program, setup)
    twin = Twin(
        "A", program, folder / "A", setup, own_folders=views.folders("A"), printed=screen.printed,
        lockstep=on_frame is not None, steps=options.steps, detail=options.detail, keep_values=options.keep_values,
        keep_child_values=options.keep_child_values, events=options.audit_until is None, audit_until=options.audit_until,
    )  # fmt: skip
    judge = Judge(BITWISE, [twin])

    def look(frames: list[Frame]) -> bool:
        if on_frame is not None:
            on_frame(twin, frames[0])
        return judge.count(frames)

    stopped: Interrupted | None = None
    try:
        screen.twins([twin])
        deadline = started + options.timeout if options.timeout else None
        outcome = advance([twin], look, deadline=deadline, tick=lambda: screen.tick(judge))
        if twin.trouble is not None and options.steps is None and not options.own_view:
            _let_end(twin, deadline, lambda: screen.tick(judge))
        code, reason = _ending(twin, outcome.kind, options, judge.observed)
    except KeyboardInterrupt as stop:
        stopped = Interrupted.of(stop)
        code, reason = stopped.exit_code, stopped.reason(judge.steps)
    finally:
        twin.kill()
        screen.close()
    if reason is None and twin.trouble is not None:  # of the last lines that it printed
        code, reason = 2, not_instrumented(twin.trouble, "the run")
    tail = twin.trouble.traceback if twin.trouble else twin.tail() if reason else None
    facts = with_children(twin.end.facts if twin.end is not None else Facts(), twin.folder)
    facts = views.as_original("A", facts)
    facts.notes[:] = options.program.shown([*facts.notes, *remarks(options.pin, facts)])
    missing = strictly_missing(options.pin, facts)
    if missing is not None and code == 0:
        code, reason = 2, Reason("pin-missing", missing)
    result = options.program.shown(RunResult(
        str(options.program), folder / "A", judge.steps, code,
        reason and reason.message, reason and reason.kind,
        round(time.monotonic() - started, 3), facts, tail, placed(refusals(noticed([facts]))),
        len(children_of(twin.folder)), views.how,
    ))  # fmt: skip
    if stopped is not None:
        raise stopped.leaving(("", result))
    return result


def _let_end(twin: Twin, deadline: float | None, tick: Callable[[], None]) -> None:
    """Recording failed, and the program goes on: what it still computes and writes is the user's. Where its output alone could
    not be kept it still reports its steps, and would wait for ever for somebody to take them."""
    while twin.process.poll() is None and (deadline is None or time.monotonic() < deadline):
        if twin.closed:
            twin.process.wait(0.1)
        elif twin.readable(0.1):
            twin.pump()
        while twin.frames:
            twin.frames.popleft()
            twin.go()
        tick()
        raise_pending()


def _ending(twin: Twin, kind: str, options: RunOptions, observed: bool) -> tuple[int, Reason | None]:
    if twin.trouble is not None:
        return 2, not_instrumented(twin.trouble, "the run")
    if kind == "timeout":
        return 2, Reason("timeout", f"no end within {options.timeout:g} s: at step {twin.step}")
    code = twin.wait(timeout=30.0)
    if code is None:
        message = f"the program had ended its steps and did not exit within 30 s: at step {twin.step}"
        return 2, Reason("timeout", message)
    if code:
        return (code if code > 0 else 128 - code), Reason("crashed", f"the program {ending(code)}")
    if twin.end is None:
        return 2, Reason("abrupt-exit", f"{NO_END}: what came after step {twin.step} is not known")
    if not observed and not children_of(twin.folder):
        return 0, no_step([twin.facts()])
    return 0, None
