"""One interruption: a run stopped at a step, the program started again with the files that it left, and both compared with
the uninterrupted run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

from msgspec.structs import replace

from twinrun.comparison.contract import BITWISE
from twinrun.comparison.frames import unlike
from twinrun.comparison.judge import Judge, not_comparable
from twinrun.counted import counted
from twinrun.launch.interventions import Setup, setup_for
from twinrun.launch.lockstep import advance
from twinrun.launch.options import Screen
from twinrun.launch.program import Program
from twinrun.launch.twin_process import NO_END, Twin, ending, not_instrumented
from twinrun.launch.views import below
from twinrun.protocol import Facts
from twinrun.recording.folder import open_recording
from twinrun.recording.reader import Reader
from twinrun.result import Reason
from twinrun.resume.children import children_unlike
from twinrun.resume.compare import Compared, compare
from twinrun.resume.failed_restart import first_line, lacking
from twinrun.resume.options import ResumeOptions
from twinrun.resume.outcome import Hole, Stop
from twinrun.resume.stopping import kill_in_save, run_to, stop
from twinrun.resume.uninterrupted import Uninterrupted, Written, changed

_NAMED = 3  # files in a sentence


class Unjudged(Exception):
    """Why nothing can be said of this stop."""

    def __init__(self, reason: Reason, tail: str | None = None) -> None:
        super().__init__(reason.message)
        self.reason, self.tail = reason, tail


@dataclass
class OneStop:
    """`found` is what is known of it so far, `which` says on the screen which of the stops this is."""

    options: ResumeOptions
    alone: Uninterrupted
    screen: Screen
    found: Stop
    which: str = "stop 1 of 1"
    _on_signal: Sequence[str] = ()  # files that it wrote between the signal and its end

    def run(self) -> tuple[Stop, Reason | None]:
        """What came of it, and why nothing did, where it could not be judged."""
        at = self.found.at
        setup = setup_for(0, self.options.interventions)
        try:
            self.screen.say(f"{self.which}: the run that is stopped after step {at}")
            self._stop(*self.alone.views.start(self.stopped.name, self.options.program, setup))
            self.screen.say(f"{self.which}: stopped after step {at}, started again")
            again = self.alone.views.again(self.stopped.name, self.options.program, setup)
            return self._started_again(*again), None
        except Unjudged as why:
            undecided = replace(
                self.found, outcome="undecided", reason=why.reason.message, output_tail=why.tail
            )
            return undecided, why.reason

    @property
    def stopped(self) -> Path:
        return self.alone.folder / f"stopped-{self.found.at}"

    @property
    def restarted(self) -> Path:
        return self.alone.folder / f"restarted-{self.found.at}"

    # the run that is stopped

    def _stop(self, program: Program, setup: Setup) -> None:
        twin = Twin(self.stopped.name, program, self.stopped, setup, detail=True, events=False)
        with self._living(twin) as judge:
            last = self.found.at - 1 if self.found.during_save else self.found.at
            outcome = run_to(twin, last, self._deadline(), lambda: self.screen.tick(judge))
            if outcome.kind != "held":
                raise Unjudged(self._why(twin, outcome.kind, "the run to be stopped"), twin.tail())
            held, before = twin.count, self._saved()
            note: str | None
            if self.found.during_save:
                note = self._kill_in_save(twin, before)
            else:
                note = stop(twin, self.options.signal, lambda: self.screen.tick(judge))
                if self.options.signal != SIGKILL:  # no handler runs then: a thread was writing
                    self._on_signal = changed(before, self._saved())
            if note:
                self.found = replace(self.found, notes=(note,))
        self._must_be_stopped_early(held)

    def _kill_in_save(self, twin: Twin, before: Written) -> str:
        files = kill_in_save(twin, lambda: changed(before, self._saved()), self._deadline())
        if files is None or (not files and (twin.trouble is not None or twin.wait(30.0) != 0)):
            kind = "timeout" if files is None else "failed"
            raise Unjudged(self._why(twin, kind, "the run to be stopped"), twin.tail())
        if not files:
            raise Unjudged(Reason("no-checkpoint", "it wrote no file this time"), twin.tail())
        return f"killed when it had begun to write {_few(files)}"

    def _must_be_stopped_early(self, held: int) -> None:
        if (early := self.differs_before(held)) is not None:
            message = f"it differed from the uninterrupted run before it was stopped, at step {early}"
            shared = self.alone.shared_files()
            if shared:
                message += f"; all runs share {', '.join(shared)}"
            raise Unjudged(Reason("not-repeating", message))
        if open_recording(self.stopped)[1].last_step() >= self.alone.steps:
            how = (
                "before it wrote a file" if self.found.during_save else f"despite {self.options.signal.name}"
            )
            message = f"it trained to its end {how}: nothing was left to resume"
            raise Unjudged(Reason("not-comparable", message))

    def _saved(self) -> Written:
        return self.alone.saved(self.stopped.name)

    def differs_before(self, held: int) -> int | None:
        """The step at which the run that was stopped was not the uninterrupted one; None where it was until then."""
        _, stopped = open_recording(self.stopped)
        for frame, wanted in zip(stopped.frames(0, held), self.alone.reader.frames(), strict=False):
            if doubtful := [each for each in unlike(wanted, frame) if each.judged]:
                raise Unjudged(not_comparable(doubtful[0]))
            if frame.key != wanted.key:
                return frame.step
        return None

    # the program started again

    def _started_again(self, program: Program, setup: Setup) -> Stop:
        twin = Twin(
            self.restarted.name, program, self.restarted, setup, lockstep=False, detail=True, events=False
        )
        with self._living(twin) as judge:
            outcome = advance(
                [twin], judge.count, deadline=self._deadline(), tick=lambda: self.screen.tick(judge)
            )
            code = twin.wait(30.0) if outcome.kind in ("ended", "failed") else None
            if twin.trouble is not None or code is None:
                raise Unjudged(self._why(twin, outcome.kind, "the restarted run"), twin.tail())
            facts, tail = twin.facts(), twin.tail()
        if code:
            return self._failed(code, judge.steps, facts, tail)
        if twin.end is None:
            raise Unjudged(Reason("abrupt-exit", f"{NO_END} after it was started again"))
        return self.compared(open_recording(self.restarted)[1], facts)

    def _failed(self, code: int, steps: int, facts: Facts, tail: str) -> Stop:
        """The restarted program ended badly, which it does not when it starts from nothing."""
        views = self.alone.views

        def apart(path: str) -> bool:
            return views.holds(path) or below(path, tuple(map(Path, views.folders(self.stopped.name))))

        if why := lacking(code, facts, apart):
            when = f"after {counted(steps, 'step')}" if steps else "before its first step"
            message = f"the restarted run failed {when}, which may have another cause than what the stopped run left: {why}"
            raise Unjudged(Reason("crashed", message), tail)
        how = ending(code) + (f" after {counted(steps, 'step')}" if steps else "")
        detail = f"it {how}"
        if facts.failure is not None:
            detail += f": {facts.failure.kinds[0]}: {first_line(facts.failure.text)}"
        return replace(
            self.found,
            outcome="failed",
            steps=steps,
            reason=f"started again, the program {how}" if steps else None,
            holes=(Hole("training" if steps else "loading", detail),),
            output_tail=tail,
        )

    def compared(self, restarted: Reader, facts: Facts) -> Stop:
        steps = restarted.last_step()
        if not steps:
            hole = Hole("steps", "started again, it took no step, as if it had trained to its end")
            return replace(self.found, outcome="differs", holes=(hole,))
        answer = compare(self.alone.reader, restarted, self.found.at, self.alone.facts[0].roles)
        if answer.unknown is not None:
            raise Unjudged(not_comparable(answer.unknown))
        found = replace(self.found, steps=steps, resumed_after=answer.joined.after if answer.joined else None)
        if answer.started_over:
            return self._started_over(found, answer)
        if answer.first is not None:
            return replace(found, outcome="differs", first_difference=answer.first, holes=answer.holes)
        if why := children_unlike(self.alone.recording("A"), self.stopped, self.restarted):
            raise Unjudged(Reason("not-comparable", why))
        found = replace(found, notes=(*found.notes, *answer.notes))
        return replace(found, files=self.alone.left_files.against(self.stopped, self.restarted, facts))

    def _started_over(self, found: Stop, answer: Compared) -> Stop:
        """Which is right where there was nothing to resume from."""
        saved = any(step < found.at + (not found.during_save) for step in self.alone.checkpoints)
        if not saved and not self._on_signal and answer.first is None:
            logs = self.alone.written_before(found.at + (not found.during_save))
            but = f" but what is written after most steps, as logs are ({_few(logs)})" if logs else ""
            note = f"nothing had been saved yet{but}: it started over, and was equal to the uninterrupted run"
            return replace(found, notes=(*found.notes, note))
        detail = "its first steps are those of the uninterrupted run's start"
        if self._on_signal:
            detail += f"; after {self.options.signal.name} it had written {_few(self._on_signal)}"
        in_save = found.during_save and saved
        hole = Hole("saving", f"{found.notes[0]}; {detail}") if in_save else Hole("start", detail)
        return replace(
            found, outcome="started-over", first_difference=answer.first, holes=(hole, *answer.holes)
        )

    # a twin

    @contextmanager
    def _living(self, twin: Twin) -> Iterator[Judge]:
        """However this is left, no process stays behind."""
        try:
            self.screen.twins([twin])
            yield Judge(BITWISE, [twin])
        finally:
            twin.kill()

    def _deadline(self) -> float | None:
        return time.monotonic() + self.options.timeout if self.options.timeout else None

    def _why(self, twin: Twin, kind: str, what: str) -> Reason:
        if twin.trouble is not None:
            return not_instrumented(twin.trouble, what)
        if kind == "timeout":
            return Reason(
                "timeout", f"no end of {what} within {self.options.timeout:g} s: at step {twin.step}"
            )
        code = twin.wait(5.0)
        how = ending(code) if code is not None else "did not exit"
        return Reason("crashed", f"{what} {how} after step {twin.step}")


def _few(files: Sequence[str]) -> str:
    more = len(files) - _NAMED
    return ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")
