"""One round of twins: start them, advance them in lockstep or one after the other, and judge what they did."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import string
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from twinrun.comparison.frames import STEP_COUNT, Difference
from twinrun.comparison.judge import Judge
from twinrun.comparison.measure import Dumps
from twinrun.interrupt import Interrupted
from twinrun.launch.children import note_survivors, with_children
from twinrun.launch.family import Family
from twinrun.launch.folders import state_limit
from twinrun.launch.interventions import setup_for
from twinrun.launch.judged import judged
from twinrun.launch.lockstep import Look, Outcome, advance
from twinrun.launch.no_step import no_step
from twinrun.launch.offline import compare_children
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.pin_outcome import noticed, refusals, remarks, strictly_missing
from twinrun.launch.recorded_twin import RecordedTwin
from twinrun.launch.twin_process import NO_END, Twin, ending, not_instrumented
from twinrun.launch.view_store import ViewStore
from twinrun.protocol import Facts, Freeze, Trace
from twinrun.protocol.intervention import ANYWHERE, of_kind
from twinrun.protocol.messages import AskTrace, Trouble
from twinrun.protocol.registry import source
from twinrun.recording.frame import Frame
from twinrun.recording.store import WHOLE_FRAMES
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, Stream, Verdict

_LEAST_ROOM = 1 << 20  # bytes that a disk has which is not full


class Round:
    def __init__(self, options: CheckOptions, folder: Path, screen: Screen, store: ViewStore) -> None:
        self.options = options
        self.folder = folder
        self.screen = screen
        self.store = store
        self.names = [_letter(number) for number in range(options.runs)]
        self.facts: list[Facts] = []
        self.traces: list[Trace] = []  # of the twins held at their first difference, where ops are traced
        self.started = time.monotonic()
        self.deadline = self.started + options.timeout if options.timeout else None
        self.failed = False  # a twin did not end well
        self.fed = False  # a batch was compared at the step of the first difference
        self.judge = Judge(options.contract, [])  # of the twins that run
        self.trouble: Trouble | None = None  # of a twin that was not recorded to its end
        self.dumps = Dumps(0 if options.experiment else options.dump_limit)
        self.first: Round = self  # whose first twin the others are compared with, one after the other
        frozen = [each for each in of_kind(Freeze, options.interventions) if source(each.source).files]
        self.files_frozen = bool(frozen)  # every twin starts from the same ones
        files = [each.file for each in frozen if each.file != ANYWHERE]
        self.views = store.views(
            options.program, options.patched, ways=options.views, frozen=files if frozen else None
        )

    def run(self) -> CheckResult:
        if self.first is not self:
            return self._against_first(1)
        if self.options.contract.output:
            return self.unwatched()
        return self.sequential() if self.options.sequential else self.parallel()

    def again(self, name: str, **changes: Any) -> Round:
        """Another round of the same check, with these options changed."""
        later = Round(replace(self.options, **changes), self.folder / name, self.screen, self.store)
        if not later.options.experiment:
            later.dumps = self.dumps  # the limit is one of the check
            self.screen.say(f"another round: {name.replace('-', ' ')}")
        return later

    def continued(self, name: str) -> Round:
        """A round in which the second twin starts from the files that the first one left. The first need not run again
        where its recording has all that a comparison may ask for."""
        later = self.again(name, sequential=True, carried=True)
        contract = self.options.contract
        if contract.bitwise and not contract.output and len(self._first_twin().reader) <= WHOLE_FRAMES:
            later.first, later.views, later.facts = self, self.views, self.facts[:1]
        return later

    def _first_twin(self) -> RecordedTwin:
        return RecordedTwin(self.names[0], self.recording(self.names[0]))

    def _view(self, name: str) -> str:
        """A round that goes on with the views of another leaves those of its twins as they are."""
        return name if self.first is self else f"{name}-{self.folder.name}"

    def recording(self, name: str) -> Path:
        return (self.first if name == self.names[0] else self).folder / name

    @property
    def on_files_of_first(self) -> bool:
        """Whether every twin starts from the files that the one before left."""
        if self.files_frozen or not self.options.sequential:
            return False
        return self.options.carried or self.views.how == "shared"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    # the twins

    def start(self, number: int, **settings: Any) -> Twin:
        options, name = self.options, self.names[number]
        before = None
        if self.on_files_of_first and number:
            before = self.names[0] if number == 1 else self._view(self.names[number - 1])
        setup = setup_for(number, options.interventions)
        program, setup = self.views.start(self._view(name), options.program, setup, before)
        return Twin(
            name, program, self.folder / name, setup, steps=options.steps, events=options.events,
            tracing=options.tracing, own_folders=self.views.folders(self._view(name)),
            keep_child_values=options.contract.numeric, values_limit=state_limit(), **{"detail": options.detail, **settings},
        )  # fmt: skip

    def _facts_of(self, twins: list[Twin]) -> list[Facts]:
        return [
            self.views.as_original(self._view(twin.name), with_children(twin.facts(), twin.folder))
            for twin in twins
        ]

    @contextlib.contextmanager
    def living(self, twins: list[Twin]) -> Iterator[list[Twin]]:
        """However this is left, no process stays behind."""
        try:
            yield twins
        finally:
            for twin in twins:
                twin.kill()
                self.trouble = self.trouble or twin.trouble

    def _advance(self, twins: list[Twin], judge: Judge, look: Look) -> Outcome:
        self.judge = judge
        self.screen.twins(twins)
        return advance(twins, look, deadline=self.deadline, tick=lambda: self.screen.tick(judge))

    def parallel(self) -> CheckResult:
        with self.living([]) as twins:
            for number in range(self.options.runs):
                twins.append(self.start(number))
            judge = Judge(self.options.contract, twins, self.dumps)
            return self.conclude(self._advance(twins, judge, judge.look), twins, judge)

    def sequential(self) -> CheckResult:
        """One after the other: the first is recorded whole, the others are compared with its recording as they go."""
        keep = {"detail": True, "keep_values": self.options.contract.numeric}
        with self.living([]) as twins:
            twins.append(self.start(0, lockstep=False, **keep))
            alone = Judge(self.options.contract, twins)
            outcome = self._advance(twins, alone, alone.count)
            if outcome.kind != "ended":
                return self.conclude(outcome, twins, alone)
            self.facts = self._facts_of(twins)
        for number in range(1, self.options.runs):
            result = self._against_first(number)
            if result.verdict != REPEATS:
                break
        return result

    def unwatched(self) -> CheckResult:
        """One after the other, and no step compared: whether they agree is for their output to say."""
        for number in range(self.options.runs):
            with self.living([]) as twins:
                twins.append(self.start(number, lockstep=False))
                judge = Judge(self.options.contract, twins)
                result = self.conclude(self._advance(twins, judge, judge.count), twins, judge)
                if self.failed or result.reason_kind not in (None, "no-step"):
                    break
        return result

    def _against_first(self, number: int) -> CheckResult:
        with self.living([]) as twins:
            twins.append(self.start(number))
            first = self._first_twin()
            frames = first.follow()
            judge = Judge(self.options.contract, [first, twins[0]], self.dumps)
            uneven: list[Frame] = []

            def look(live: list[Frame]) -> bool:
                kept = next(frames, None)
                if kept is None:
                    uneven.append(live[0])
                    return True
                return judge.look([kept, live[0]])

            outcome = self._advance(twins, judge, look)
            more = next(frames, None) if outcome.kind == "ended" else None
            if uneven or more is not None:
                shorter, longer = (twins[0], first) if more is not None else (first, twins[0])
                return self._uneven(judge, shorter.name, longer.name, twins)
            return self.conclude(outcome, twins, judge)

    # the verdict

    def conclude(self, outcome: Outcome, twins: list[Twin], judge: Judge) -> CheckResult:
        twin = outcome.twin or twins[0]
        if outcome.kind == "failed":
            return self._failed(twin, twins, judge)
        if outcome.kind == "timeout":
            message = f"no answer within {self.options.timeout:g} s: twin {twin.name} was at step {twin.step}"
            return self._result(UNDECIDED, judge, Reason("timeout", message), tail=twin.tail())
        if outcome.kind == "held":
            return self._held(twins, judge)
        for ended in [twin] if outcome.kind == "uneven" else twins:
            if ended.wait(timeout=30.0) != 0 or ended.trouble is not None:
                return self._failed(ended, twins, judge)
        self.facts += self._facts_of(twins)
        if outcome.kind == "uneven":
            return self._uneven(judge, twin.name, next(other.name for other in twins if other.frames), twins)
        return self._ended(twins, judge)

    def _held(self, twins: list[Twin], judge: Judge) -> CheckResult:
        """At the first difference that counts."""
        if judge.first is not None and judge.first.uneven:
            return self._one_has_ended(judge.first, twins, judge)
        if self.options.tracing:
            answers = [twin.ask(AskTrace(), timeout=120.0) for twin in twins]
            self.traces = [answer for answer in answers if isinstance(answer, Trace)]
        self.facts += self._facts_of(twins)
        for twin in twins:
            twin.kill(status="held")
        return self._result(UNDECIDED if judge.unmeasured else DIVERGES, judge, judge.unmeasured)

    def _ended(self, twins: list[Twin], judge: Judge) -> CheckResult:
        """Every twin has ended, and no difference that counts was seen."""
        family = self._children(twins, judge)
        # An experiment asks only whether a difference is gone: for one in the first weights, these are enough.
        if not (judge.observed or family.observed) and not (self.options.experiment and judge.frames):
            return self._result(UNDECIDED, judge, self._nothing_seen(twins))
        if any(twin.end is None for twin in twins):
            known = f"equal up to step {judge.steps}, nothing is known of what came after"
            return self._result(UNDECIDED, judge, Reason("abrupt-exit", f"{NO_END}: {known}"))
        verdict, reason = judge.bands() if judge.observed else (REPEATS, None)
        return family.judge(self._result(verdict, judge, reason))

    def _children(self, twins: list[Twin], judge: Judge) -> Family:
        """Of all twins, against those of the first, up to the first twin whose children differ."""
        first, *others = (witness.folder for witness in judge.witnesses)
        stopped = any(twin.end is not None and twin.end.status == "stopped" for twin in twins)
        for twin in twins:
            note_survivors(twin.folder)
        found = Family()
        for other in others:
            names = (first.name, other.name)
            found = compare_children(first, other, self.options.contract, stopped=stopped, names=names)
            if found.decisive is not None:
                break
        return found

    def interrupted(self, why: Interrupted) -> CheckResult:
        """Broken off in this round, or in what was to follow it."""
        result = self._result(UNDECIDED, self.judge, why.reason(self.judge.steps))
        return result if len(self.judge.witnesses) > 1 else result.replace(steps_compared=0)

    def _nothing_seen(self, twins: list[Twin]) -> Reason:
        if any(twin.end is None for twin in twins):
            return Reason("abrupt-exit", f"{NO_END}, and no training step was observed")
        return no_step(self.facts)

    def _one_has_ended(self, difference: Difference, twins: list[Twin], judge: Judge) -> CheckResult:
        """One twin stands at its end and another goes on. Whether that end was a good one is known when it is over."""
        shorter, longer = sorted(judge.pair, key=lambda name: name == difference.only_in)
        for twin in twins:  # none of this name: it is the recording of a first twin
            if twin.name == shorter:
                twin.go()
                outcome = advance([twin], lambda _: False, deadline=time.monotonic() + 30.0)
                if outcome.kind == "failed":
                    return self._failed(twin, twins, judge)
        self.facts += self._facts_of(twins)
        return self._uneven(judge, shorter, longer, twins)

    def _uneven(self, judge: Judge, shorter: str, longer: str, twins: list[Twin]) -> CheckResult:
        reason = f"twin {shorter} ended after step {judge.steps}, twin {longer} went on"
        judge.first = judge.first or Difference(judge.steps + 1, "weights", STEP_COUNT, only_in=longer)
        for twin in twins:
            twin.kill(status="held")
        return self._result(DIVERGES, judge, Reason("uneven", reason))

    def _failed(self, twin: Twin, twins: list[Twin], judge: Judge) -> CheckResult:
        if twin.trouble is not None:
            self.facts.append(Facts(notes=[twin.trouble.hint] if twin.trouble.hint else []))
            reason = not_instrumented(twin.trouble, f"twin {twin.name}")
            return self._result(UNDECIDED, judge, reason, tail=twin.trouble.traceback)
        if (full := self._no_room(twins)) is not None:
            return self._result(UNDECIDED, judge, full)
        code = twin.process.returncode
        how = ending(code) if code is not None else "ended its steps and did not exit within 30 s"
        at = f" after step {twin.step}" if twin.step else ""
        # Give the others a moment: whether one twin or all of them fail is worth knowing.
        others = [other for other in twins if other is not twin]
        both = bool(others) and all((other.wait(timeout=3.0) or 0) != 0 for other in others)
        alone = len(twins) > 1 or bool(self.facts)  # one after the other, the first has ended well
        self.failed = True
        who = f"twin {twin.name} alone" if alone and not both else "the program"
        ends = [(each, each.end) for each in twins if each.end is not None]
        self.facts += [self.views.as_original(self._view(each.name), end.facts) for each, end in ends]
        reason = Reason("crashed" if code is not None else "timeout", f"{who} {how}{at}")
        return self._result(UNDECIDED, judge, reason, tail=twin.tail())

    def _no_room(self, twins: list[Twin]) -> Reason | None:
        """Where a program failed because the disk that its view is on is full. The user's own disk may not be."""
        failures = [twin.end.facts.failure for twin in twins if twin.end is not None]
        texts = [failure.text for failure in failures if failure is not None]
        if self.views.how == "shared" or not any(os.strerror(errno.ENOSPC) in text for text in texts):
            return None
        if shutil.disk_usage(self.views.place).free > _LEAST_ROOM:
            return None
        what = f"cannot write {self.views.place}, where the files of the twins are"
        return Reason("cannot-write", f"{what}: {os.strerror(errno.ENOSPC)}")

    def _result(
        self, verdict: Verdict, judge: Judge, reason: Reason | None = None, tail: str | None = None
    ) -> CheckResult:
        self.fed = judge.fed
        known = next((facts for facts in self.facts if facts.environment), Facts())
        notes = list(
            dict.fromkeys([*self.views.notes, *(note for facts in self.facts for note in facts.notes)])
        )
        findings = noticed(self.facts)
        if (
            verdict != DIVERGES
        ):  # what did not make the twins differ is no finding, unless it ended the program
            findings = refusals(findings) if verdict == UNDECIDED else ()
        missing = strictly_missing(self.options.pin, known)
        if missing is not None and reason is None:
            verdict, reason = UNDECIDED, Reason("pin-missing", missing)
        notes += [*remarks(self.options.pin, known), *self.dumps.notes]
        return judged(str(self.options.program), verdict, reason, judge).replace(
            runs=self.options.runs,
            streams=tuple(Stream(d.step, d.tensor) for d in judge.evidence),
            findings=findings,
            controls=msgspec.to_builtins(known.controls, enc_hook=str),
            varied=self.options.variations,
            environment=known.environment,
            recordings=tuple(map(str, self._recordings())),
            notes=tuple(notes),
            output_tail=tail,
        )

    def _recordings(self) -> list[Path]:
        return [folder for folder in map(self.recording, self.names) if folder.is_dir()]


def _letter(number: int) -> str:
    letters = string.ascii_uppercase
    return letters[number] if number < len(letters) else f"T{number}"
