"""The whole of `twinrun resume`: the program left alone, then stopped and started again, as often as asked."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from twinrun.comparison.contract import BITWISE
from twinrun.comparison.judge import Judge
from twinrun.errors import CannotCopy, UsageError
from twinrun.interrupt import Interrupted
from twinrun.launch.children import children_of
from twinrun.launch.folders import Place, recordings
from twinrun.launch.interventions import Setup, setup_for
from twinrun.launch.lockstep import advance
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.launch.twin_process import NO_END, Twin, ending, not_instrumented
from twinrun.launch.view_store import ViewStore
from twinrun.protocol import Facts, Intervened, Interventions
from twinrun.recording.folder import open_recording
from twinrun.recording.reader import Reader
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, Verdict
from twinrun.resume.compare import Compared, compare
from twinrun.resume.outcome import Hole, ResumeResult, Stop
from twinrun.resume.stopping import kill_in_save, run_to, stop
from twinrun.resume.uninterrupted import Uninterrupted, spread
from twinrun.resume.wording import findings_of

WORDS = ("checkpoints", "save", "random")
At = tuple[int, ...] | str  # steps, or one of the words


@dataclass(frozen=True)
class ResumeOptions(Intervened):
    program: Program
    at: At = "checkpoints"
    signal: signal.Signals = signal.SIGKILL
    most: int = 5
    interventions: Interventions = ()
    timeout: float | None = None  # of each run
    folder: str | None = None
    keep: bool = False


def run_resume(options: ResumeOptions, screen: Screen | None = None) -> ResumeResult:
    options.program.must_exist()
    screen = screen or Screen()
    secrets = options.program.secrets
    try:
        with recordings("resume", options.folder, keep=options.keep, secrets=secrets) as place:
            search = Search(options, place, screen)
            try:
                with ViewStore(place.folder) as store:
                    return search.run(store).without(secrets)
            except KeyboardInterrupt as broken:
                why = Interrupted.of(broken)
                result = search.result(UNDECIDED, why.reason(search.steps))
                raise why.leaving(("", result.without(secrets))) from None
    finally:
        screen.close()


class Search:
    def __init__(self, options: ResumeOptions, place: Place, screen: Screen) -> None:
        self.options = options
        self.folder = place.folder
        self.screen = screen
        self.steps = 0
        self._notes = list(place.notes)
        self._checkpoints: tuple[int, ...] = ()
        self._stops: list[Stop] = []
        self._unknown: Reason | None = None  # why a stop could not be judged
        self._started = time.monotonic()

    def run(self, store: ViewStore) -> ResumeResult:
        options = self.options
        self.screen.say("left alone")
        alone = Uninterrupted(
            CheckOptions(
                options.program, interventions=options.interventions, timeout=options.timeout, detail=True, events=False,
                views=("overlay", "copy"),
            ),
            self.folder, self.screen, store,
        )  # fmt: skip
        if alone.views.how == "shared":
            why = "; ".join(alone.views.notes)
            raise CannotCopy(
                f"the program cannot be run in views of its folder, apart from one another: {why}"
            )
        whole = alone.run()
        self._notes += [note for note in whole.notes if note not in self._notes]
        self.steps = whole.steps_compared
        if whole.verdict != REPEATS:
            return self._without_reference(whole)
        self._checkpoints = alone.checkpoints(self.steps)
        reference = alone.recording("A")
        if children := children_of(reference):
            self._notes.append(f"the {len(children)} processes that the program started were not compared")
        self._roles = alone.facts[0].roles if alone.facts else {}
        _, self._whole = open_recording(reference)
        if self.steps < 2:
            return self.result(
                UNDECIDED, Reason("no-step", f"the program took {self.steps} steps: too few to be stopped")
            )
        stops = self._chosen()
        if not stops:
            where = " and ".join(map(str, alone.views.roots))
            message = f"the program wrote no file below {where} before its last step: there is nothing to resume from"
            return self.result(UNDECIDED, Reason("no-checkpoint", message))
        for at in stops:
            self._stops.append(self._stopped(alone, at))
        return self._judged()

    def _chosen(self) -> tuple[int, ...]:
        at, last = self.options.at, self.steps - 1
        if at == "random":
            # Before the first checkpoint there is nothing to resume from.
            found = random.SystemRandom().randint(min(self._checkpoints, default=1), last)
            self._notes.append(f"stopped at random; --at {found} does it again")
            return (found,)
        if isinstance(at, tuple):
            if max(at) > last:
                raise UsageError(
                    f"--at {max(at)}: the program takes {self.steps} steps",
                    hint=f"stop it after one of 1 to {last}",
                )
            return at
        chosen = spread(self._checkpoints, self.options.most)
        if len(chosen) < len(self._checkpoints):
            self._notes.append(f"stopped at {len(chosen)} of {len(self._checkpoints)} checkpoints (--most)")
        return chosen

    # one stop

    def _stopped(self, alone: Uninterrupted, at: int) -> Stop:
        found = Stop(at, self.options.at == "save")
        name = f"stopped-{at}"
        self.screen.say(f"stopped after step {at}")
        setup = setup_for(0, self.options.interventions)
        program, inside = alone.views.start(name, self.options.program, setup)
        with self._living(Twin(name, program, self.folder / name, inside, detail=True, events=False)) as twin:
            held, note, why = self._interrupt(twin, found, lambda: alone.views.written(name))
            if why is not None:
                return self._undecided(found, why, twin.tail())
        found = replace(found, notes=() if note is None else (note,))
        if (early := self._differs_before(name, held)) is not None:
            message = f"it differed from the uninterrupted run before it was stopped, at step {early}"
            return self._undecided(found, Reason("not-repeating", message))
        self.screen.say(f"stopped after step {at}, started again")
        return self._started_again(found, *alone.views.again(name, self.options.program, setup))

    def _interrupt(
        self, twin: Twin, found: Stop, written: Callable[[], object]
    ) -> tuple[int, str | None, Reason | None]:
        """How many frames there were when it was stopped, a note on how, and why it could not be."""
        self.screen.twins([twin])
        judge = Judge(BITWISE, [twin])
        last = found.at - 1 if found.during_save else found.at
        outcome = run_to(twin, last, self._deadline(), lambda: self.screen.tick(judge))
        if outcome.kind != "held":
            return 0, None, self._why(twin, outcome.kind, "the run to be stopped")
        held = twin.count
        if not found.during_save:
            return held, stop(twin, self.options.signal), None
        if kill_in_save(twin, written, self._deadline()):
            return held, None, None
        return held, None, Reason("no-checkpoint", "it wrote no file this time")

    def _started_again(self, found: Stop, program: Program, inside: Setup) -> Stop:
        folder = self.folder / f"restarted-{found.at}"
        restarted = Twin(folder.name, program, folder, inside, lockstep=False, detail=True, events=False)
        with self._living(restarted) as twin:
            judge = Judge(BITWISE, [twin])
            self.screen.twins([twin])
            deadline = self._deadline()
            outcome = advance([twin], judge.count, deadline=deadline, tick=lambda: self.screen.tick(judge))
            code = twin.wait(30.0) if outcome.kind in ("ended", "failed") else None
            if twin.trouble is not None or code is None:
                return self._undecided(found, self._why(twin, outcome.kind, "the restarted run"), twin.tail())
            facts, tail = twin.facts(), twin.tail()
            ended = twin.end is not None
        if code:
            return _failed(found, code, judge.steps, facts, tail)
        if not ended:
            return self._undecided(found, Reason("abrupt-exit", f"{NO_END} after it was started again"))
        return self._compared(found, open_recording(folder)[1])

    def _compared(self, found: Stop, restarted: Reader) -> Stop:
        steps = restarted.last_step()
        if not steps:
            hole = Hole("steps", "started again, it took no step, as if it had trained to its end")
            return replace(found, outcome="differs", holes=(hole,))
        answer = compare(self._whole, restarted, found.at, self._roles)
        found = replace(found, steps=steps, resumed_after=answer.joined.after if answer.joined else None)
        if answer.started_over:
            return self._started_over(found, answer)
        if answer.first is None:
            return found
        return replace(found, outcome="differs", first_difference=answer.first, holes=answer.holes)

    def _started_over(self, found: Stop, answer: Compared) -> Stop:
        """Which is right where there was nothing to resume from."""
        saved = any(step < found.at + (not found.during_save) for step in self._checkpoints)
        if not saved and answer.first is None:
            note = "nothing had been saved yet: it started over, and was equal to the uninterrupted run"
            return replace(found, notes=(*found.notes, note))
        hole = Hole("start", "its first steps are those of the uninterrupted run's start")
        return replace(
            found, outcome="started-over", first_difference=answer.first, holes=(hole, *answer.holes)
        )

    def _differs_before(self, name: str, held: int) -> int | None:
        """The step at which the run that was stopped was not the uninterrupted one; None where it was until then."""
        _, stopped = open_recording(self.folder / name)
        for frame, wanted in zip(stopped.frames(0, held), self._whole.frames(), strict=False):
            if frame.key != wanted.key:
                return frame.step
        return None

    @contextmanager
    def _living(self, twin: Twin) -> Iterator[Twin]:
        """However this is left, no process stays behind."""
        try:
            yield twin
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

    def _undecided(self, found: Stop, why: Reason, tail: str | None = None) -> Stop:
        self._unknown = self._unknown or why
        return replace(found, outcome="undecided", reason=why.message, output_tail=tail)

    # the answer

    def _without_reference(self, whole: CheckResult) -> ResumeResult:
        tail = whole.output_tail
        if whole.verdict == UNDECIDED:
            kind, message = whole.reason_kind or "no-step", whole.reason or "it could not be judged"
            return self.result(UNDECIDED, Reason(kind, message), tail)
        first = whole.first_difference
        at = f" (step {first.step}, {first.phase}: {first.tensor})" if first is not None else ""
        message = f"the program does not repeat when it is left alone{at}: a restart cannot be blamed for a difference"
        self._notes.append("twinrun check names the cause; twinrun resume --pin makes many programs repeat")
        return self.result(UNDECIDED, Reason("not-repeating", message), tail)

    def _judged(self) -> ResumeResult:
        if any(each.outcome not in ("equal", "undecided") for each in self._stops):
            return self.result(DIVERGES)
        if self._unknown is not None:
            return self.result(UNDECIDED, self._unknown)
        if not any(each.resumed_after for each in self._stops):
            message = "nothing was resumed: when the program was stopped it had saved nothing yet, and it started over"
            return self.result(UNDECIDED, Reason("no-checkpoint", message))
        return self.result(REPEATS)

    def result(self, verdict: Verdict, reason: Reason | None = None, tail: str | None = None) -> ResumeResult:
        stops = tuple(self._stops)
        kept = [self.folder / name for name in ("A", "B")]
        kept += [self.folder / f"{part}-{each.at}" for each in stops for part in ("stopped", "restarted")]
        return ResumeResult.of(
            str(self.options.program), verdict, reason,
            signal=self.options.signal.name, steps=self.steps, checkpoints=self._checkpoints, stops=stops,
            findings=findings_of(stops), recordings=tuple(str(path) for path in kept if path.is_dir()),
            notes=tuple(self._notes), seconds=round(time.monotonic() - self._started, 3), output_tail=tail,
        )  # fmt: skip


def _failed(found: Stop, code: int, steps: int, facts: Facts, tail: str) -> Stop:
    """The restarted program ended badly, which it does not when it starts from nothing."""
    why = (
        facts.failure.text.strip().splitlines()[0][:300]
        if facts.failure and facts.failure.text.strip()
        else ""
    )
    kind = facts.failure.kinds[0] if facts.failure else ""
    detail = f"it {ending(code)}" + (f": {kind}: {why}" if kind else "")
    if steps:
        reason = f"started again, the program {ending(code)} after {steps} steps"
        return replace(found, outcome="failed", steps=steps, reason=reason, output_tail=tail)
    return replace(found, outcome="failed", holes=(Hole("loading", detail),), output_tail=tail)
