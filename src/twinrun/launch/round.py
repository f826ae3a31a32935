"""One round of twins: start them, advance them in lockstep or one after the other, and judge what they did."""

from __future__ import annotations

import contextlib
import string
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from twinrun.comparison.judge import Judge
from twinrun.comparison.measure import Dumps
from twinrun.environment.verdict import environment_differences
from twinrun.interrupt import Interrupted
from twinrun.launch.children import with_children
from twinrun.launch.conclusion import Conclusion, has_end
from twinrun.launch.folders import state_limit
from twinrun.launch.interventions import setup_for
from twinrun.launch.judged import agree_by_luck, judged
from twinrun.launch.lockstep import Look, Outcome, advance
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.pin_outcome import noticed, refusals, remarks, strictly_missing
from twinrun.launch.placement import devices_used, judge_placement
from twinrun.launch.recorded_twin import RecordedTwin
from twinrun.launch.replicas import judge_replicas
from twinrun.launch.twin_process import Twin
from twinrun.launch.view_store import ViewStore
from twinrun.protocol import Facts, Freeze, Trace
from twinrun.protocol.intervention import ANYWHERE, of_kind
from twinrun.protocol.messages import Trouble
from twinrun.protocol.registry import source
from twinrun.recording.frame import Frame
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, Stream, Verdict

_GRACE = 60.0  # seconds
# What a further round is for, by the name of its folder, as the live line says it.
_PURPOSES = {
    "without-overlay": "each twin in a copy of the folder",
    "one-after-the-other": "one twin after the other",
    "on-the-same-files": "on the files that the first twin left",
    "on-the-same-files-alone": "on the files that the first twin left, one twin after the other",
    "on-the-same-files-pair": "on the files that the first twin left, two twins",
    "stress": "under stress",
    "stress-and-frozen": "under stress",
    "stress-pair": "under stress, two twins",
    "frozen": "with the clock frozen",
    "again": "without what TensorFlow refused",
}


class Round:
    def __init__(self, options: CheckOptions, folder: Path, screen: Screen, store: ViewStore) -> None:
        self.options = options
        self.folder = folder
        self.screen = screen
        self.store = store
        self.names = [letter(number) for number in range(options.runs)]
        self.facts: list[Facts] = []
        self.traces: list[Trace] = []  # of the twins held at their first difference, where ops are traced
        self.started = time.monotonic()
        self.deadline = self.started + options.timeout if options.timeout else None
        self.failed = False  # a twin did not end well
        self.compared: tuple[str, ...] = ()  # phases that were, at the step of the first difference
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
            result = self._against_first(1)
        elif self.options.contract.output:
            return self.unwatched()
        else:
            result = self.sequential() if self.options.sequential else self.parallel()
        result = judge_placement(result, self.names)
        return judge_replicas(result, list(zip(map(self.recording, self.names), self.facts, strict=False)))

    def again(self, name: str, **changes: Any) -> Round:
        """Another round of the same check, with these options changed."""
        later = Round(replace(self.options, **changes), self.folder / name, self.screen, self.store)
        if not later.options.experiment:
            later.dumps = self.dumps  # the limit is one of the check
            self.screen.say(f"another round: {_PURPOSES.get(name, name)}")
        return later

    def one_more(self, name: str, **changes: Any) -> Round:
        """A round of one twin, which is compared with the recording of the first twin of this one: that need not run
        again, but its values are not known."""
        later = self.again(name, **changes)
        later.first, later.views, later.facts = self, self.views, self.facts[:1]
        return later

    def _first_twin(self) -> RecordedTwin:
        return RecordedTwin(self.names[0], self.recording(self.names[0]))

    def view_of(self, name: str) -> str:
        """A round that goes on with the views of another leaves those of its twins as they are."""
        return name if self.first is self else f"{name}-{self.folder.name}"

    def recording(self, name: str) -> Path:
        return (self.first if name == self.names[0] else self).folder / name

    @property
    def closely(self) -> bool:
        """Whether the result is to be looked at: an experiment only answers a question."""
        return not self.options.experiment

    @property
    def on_files_of_first(self) -> bool:
        """Whether every twin starts from the files that the one before left."""
        if self.files_frozen or not self.options.sequential:
            return False
        return self.options.carried or self.views.how == "shared"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def patience(self) -> float:
        """How long a further round may take, in seconds."""
        long_enough = 3 * self.seconds + _GRACE
        return min(long_enough, self.options.timeout) if self.options.timeout else long_enough

    # the twins

    def start(self, number: int, **settings: Any) -> Twin:
        options, name = self.options, self.names[number]
        before = None
        if self.on_files_of_first and number:
            before = self.names[0] if number == 1 else self.view_of(self.names[number - 1])
        setup = setup_for(number, options.interventions)
        program, setup = self.views.start(self.view_of(name), options.program, setup, before)
        if options.workers:
            program = program.in_cluster(options.workers, options.worker_timeout)
        return Twin(
            name, program, self.folder / name, setup, steps=options.steps, workers=options.workers, replicas=options.replicas, events=options.events,
            tracing=options.tracing, own_folders=self.views.folders(self.view_of(name)), values_limit=state_limit(),
            **{"detail": options.detail, "keep_child_values": options.contract.numeric, **settings},
        )  # fmt: skip

    def facts_of(self, twins: list[Twin]) -> list[Facts]:
        return [
            self.views.as_original(self.view_of(twin.name), with_children(twin.facts(), twin.folder))
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
            judge = Judge(self.options.contract, twins, self.dumps, closely=self.closely)
            return Conclusion(self, twins, judge).after(self._advance(twins, judge, judge.look), judge.follow)

    def sequential(self) -> CheckResult:
        """One after the other: the first is recorded whole, the others are compared with its recording as they go."""
        keep = {"detail": True, "keep_values": self.options.contract.numeric}
        with self.living([]) as twins:
            twins.append(self.start(0, lockstep=False, **keep))
            alone = Judge(self.options.contract, twins)
            outcome = self._advance(twins, alone, alone.count)
            if outcome.kind != "ended":
                return Conclusion(self, twins, alone).after(outcome)
            self.facts = self.facts_of(twins)
        for number in range(1, self.options.runs):
            result = self._against_first(number)
            if result.verdict != REPEATS:
                break
        return result

    def unwatched(self) -> CheckResult:
        """One after the other, and no step compared: whether they agree is for their output to say."""
        for number in range(self.options.runs):
            result = self.alone(number)
            if self.failed or result.reason_kind not in (None, "no-step"):
                break
        return result

    def alone(self, number: int, **settings: Any) -> CheckResult:
        """One run, which is compared with nothing."""
        with self.living([]) as twins:
            twins.append(self.start(number, lockstep=False, **settings))
            judge = Judge(self.options.contract, twins)
            return Conclusion(self, twins, judge).after(self._advance(twins, judge, judge.count))

    def _against_first(self, number: int) -> CheckResult:
        with self.living([]) as twins:
            twins.append(self.start(number))
            first = self._first_twin()
            frames = first.follow()
            judge = Judge(self.options.contract, [first, twins[0]], self.dumps, closely=self.closely)
            uneven: list[Frame] = []

            def look(live: list[Frame]) -> bool:
                kept = next(frames, None)
                if kept is None:
                    uneven.append(live[0])
                    return True
                if kept.digests:
                    return judge.look([kept, live[0]])
                rolled_up = [kept.rolled_up(first.reader.rollup(first.seq)), live[0].rolled_up()]
                return judge.look_rolled_up([kept, live[0]], rolled_up)

            def follow(live: list[Frame]) -> bool:
                kept = next(frames, None)
                return kept is None or not kept.digests or judge.follow([kept, live[0]])

            outcome = self._advance(twins, judge, look)
            stopped = twins[0].end is not None and twins[0].end.status == "stopped"
            conclusion = Conclusion(self, twins, judge)
            if uneven:
                return (
                    conclusion.uneven(first.name, twins[0].name) if has_end(first) else conclusion.vanished()
                )
            if outcome.kind == "ended" and not stopped and next(frames, None) is not None:
                outcome = Outcome("uneven", twins[0], first.name)
            return conclusion.after(outcome, follow)

    # the verdict

    def interrupted(self, why: Interrupted) -> CheckResult:
        """Broken off in this round, or in what was to follow it."""
        result = self.result(UNDECIDED, self.judge, why.reason(self.judge.steps))
        return result if len(self.judge.witnesses) > 1 else result.replace(steps_compared=0)

    def result(
        self, verdict: Verdict, judge: Judge, reason: Reason | None = None, tail: str | None = None
    ) -> CheckResult:
        self.compared = judge.compared
        known = next((facts for facts in self.facts if facts.environment), Facts())
        notes = list(
            dict.fromkeys([*self.views.notes, *(note for facts in self.facts for note in facts.notes)])
        )
        findings = noticed(self.facts)
        if verdict != DIVERGES:
            # What did not make the twins differ is no finding, unless it ended the program.
            findings = refusals(findings) if verdict == UNDECIDED else ()
        missing = strictly_missing(self.options.pin, known)
        if missing is not None and reason is None:
            verdict, reason = UNDECIDED, Reason("pin-missing", missing)
        notes += [*remarks(self.options.pin, known), *self.dumps.notes]
        result = judged(str(self.options.program), verdict, reason, judge).replace(
            runs=self.options.runs,
            streams=tuple(Stream(d.step, d.tensor) for d in judge.evidence),
            findings=findings,
            controls=msgspec.to_builtins(known.controls, enc_hook=str),
            varied=self.options.variations,
            devices=devices_used(self.options.devices, self.facts),
            environment=known.environment,
            environment_differences=environment_differences([facts.environment for facts in self.facts]),
            recordings=tuple(map(str, self._recordings())),
            notes=tuple(notes),
            output_tail=tail,
        )
        return agree_by_luck(result, self.facts)

    def _recordings(self) -> list[Path]:
        return [folder for folder in map(self.recording, self.names) if folder.is_dir()]


def letter(number: int) -> str:
    letters = string.ascii_uppercase
    return letters[number] if number < len(letters) else f"T{number}"
