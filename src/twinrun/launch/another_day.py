"""Before `repeats`: twins that agree share what two runs on two days do not, which is the files they start from, a quiet
machine, and the time of day. Each question is answered by one more twin, compared with the recording of the first. Only
what such a twin does otherwise is looked into by a round of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from twinrun.environment.environment import facts_of
from twinrun.launch.delivered import DeliveryJudge
from twinrun.launch.options import Screen
from twinrun.launch.round import Round
from twinrun.launch.second_looks import after_the_other, changed_inputs, file_names
from twinrun.launch.side_by_side import side_by_side, twins_at_once
from twinrun.protocol import Facts, Freeze, SecondLook, Stress
from twinrun.protocol.intervention import without
from twinrun.protocol.registry import sources
from twinrun.recording.frame import ROLLED_UP
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult

_STEPS = 100  # enough to see whether the time of day reaches training
# The next twin starts from the files that the one before left.
_CARRIED = {"sequential": True, "carried": True}


def look_again(
    last: Round, result: CheckResult, judge: DeliveryJudge | None = None
) -> tuple[Round, CheckResult]:
    """The round whose verdict counts, and its result. All questions are asked at once, where there is room. `judge`, of
    what was delivered, may need two more twins: they run beside the others where there is room for these too; else
    one of the others may do in their place."""
    room = _room(last)
    questions = list(_questions(last)) if result.verdict == REPEATS else []
    beside = judge is not None and room >= len(questions) + 2
    if judge is not None and not beside:
        for question in questions:
            question.judge = judge
    for together in [questions] if room > 1 else [[each] for each in questions]:
        work: list[Callable[[Screen], object]] = [question.ask for question in together]
        if judge is not None and beside and work:
            work.append(judge.compare)
        side_by_side(work, room, last.screen)
        for question in together:
            again, result = question.settle(last, result, alone=len(work) == 1)
            if result.verdict != REPEATS:
                return again, result
    return last, result


def carried_over(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Where what the program delivers is judged: it is run as its user would, twice on the same files. What it delivers
    then is for the caller to compare."""
    changed = changed_inputs(last.facts)
    agreed = result.verdict == REPEATS or result.reason_kind in (None, "no-step")
    if not agreed or not changed or last.files_frozen or last.on_files_of_first:
        return last, result
    apart = last.again("on-the-same-files", **_CARRIED)
    found = apart.run()
    if not apart.failed:
        return apart, after_the_other(apart, found, _changes(changed))
    return last, result.replace(notes=(*result.notes, _note_of_files(changed, found)))


def _room(last: Round) -> int:
    """How many twins may run at once. Those that share a folder, or what else only one can have, run alone, and so do clusters."""
    if last.options.sequential or last.options.workers or last.views.how == "shared":
        return 1
    return min(twins_at_once(), len(last.names)) if on_gpu(last.facts) else twins_at_once()


def on_gpu(twins: Iterable[Facts]) -> bool:
    """Whether they computed on one. Its memory is not known to have room for more of them."""
    found = [facts_of(facts.environment, "framework").get("devices") for facts in twins]
    return any(isinstance(devices, dict) and devices.get("kind") == "gpu" for devices in found)


def _questions(last: Round) -> Iterator[Question]:
    changed = changed_inputs(last.facts)
    if changed and not last.files_frozen and not last.on_files_of_first:
        yield OnTheSameFiles(last, changed)
    if looks := list(_wanted_looks(last)):
        yield Provoked(last, looks)


class Question(ABC):
    """What may make a difference some other day."""

    def __init__(self, last: Round) -> None:
        self.last = last
        self.judge: DeliveryJudge | None = None  # whose question the twin may answer too

    @abstractmethod
    def twin(self) -> Round:
        """The round of one more twin that answers it."""

    def ask(self, screen: Screen) -> None:
        self.round = self.twin()
        self.round.screen = screen
        self.found = self.round.run()

    @abstractmethod
    def settle(self, last: Round, result: CheckResult, *, alone: bool) -> tuple[Round, CheckResult]:
        """The round whose verdict counts, and its result. `alone`: nothing else ran beside the twin."""


class OnTheSameFiles(Question):
    """Twins that start from the same files prove nothing about the next run of a program that changes what it reads: is
    it the same on the files that a run leaves?"""

    def __init__(self, last: Round, changed: list[str]) -> None:
        super().__init__(last)
        self._changed = changed

    def twin(self) -> Round:
        return self.last.one_more("on-the-same-files", **_CARRIED)

    def settle(self, last: Round, result: CheckResult, *, alone: bool) -> tuple[Round, CheckResult]:
        apart, found = self.round, self.found
        if found.verdict != REPEATS and not alone:  # the others may have been in its way
            apart = last.one_more("on-the-same-files-alone", **_CARRIED)
            found = apart.run()
        if _is_vague(found):
            apart = last.again("on-the-same-files-pair", **_CARRIED)
            found = apart.run()
        if found.verdict == DIVERGES:
            return apart, after_the_other(apart, found, _changes(self._changed))
        note = _note_of_files(self._changed, found)
        return last, result.replace(notes=(*result.notes, note))


def _changes(changed: list[str]) -> str:
    return f"the program changed what it reads ({file_names(changed)})"


def _note_of_files(changed: list[str], found: CheckResult) -> str:
    note = f"{_changes(changed)}: checked once more, starting from the files that a run leaves behind"
    return f"{note}, which gave no answer: {found.reason}" if found.verdict == UNDECIDED else note


class Provoked(Question):
    """Where something may race, or the time of day is read: is it the same with CPU affinity shuffled, and with the clock
    moved?"""

    def __init__(self, last: Round, looks: list[SecondLook]) -> None:
        super().__init__(last)
        options, added = last.options, tuple(look.intervention for look in looks)
        self._looks = looks
        self._notes = tuple(f"{look.why}: checked once more {look.how}" for look in looks)
        self._changes = {
            "timeout": last.patience,  # a program may wait for a moved clock
            "interventions": (*options.interventions, *added),
            "steps": options.steps if Stress() in added else min(options.steps or _STEPS, _STEPS),
        }
        # Twins that share their folder leave it changed: only those that start together can be compared.
        self._by_pair = last.views.how == "shared"

    def twin(self) -> Round:
        if self.judge is not None and (self._by_pair or not self.judge.freezes):
            self.judge = None
        if self.judge is not None:
            return self._marked_twin("stress-and-frozen", self.judge.freezes)
        make = self.last.again if self._by_pair else self.last.one_more
        return make("stress", **self._changes)

    def _marked_twin(self, name: str, freezes: Iterable[Freeze], *, stressed: bool = True) -> Round:
        """A round of one twin that runs to its end, and whose output shows where its values came from."""
        marked = {look.marked.source: look.marked for look in self._looks if look.marked is not None}
        own = tuple(look.intervention for look in self._looks if look.marked is None)
        others = tuple(freeze for freeze in freezes if freeze.source not in marked)
        added = (*(own if stressed else without(Stress, own)), *marked.values(), *others)
        interventions = (*self.last.options.interventions, *added)
        return self.last.one_more(
            name, **{**self._changes, "interventions": interventions, "steps": self.last.options.steps}
        )

    def _is_race(self) -> bool:
        """Whether a twin that differs does so because it was stressed: all that is frozen in it changes nothing alone."""
        stressed = any(isinstance(look.intervention, Stress) for look in self._looks)
        if self.judge is None or self.found.verdict != DIVERGES or not stressed:
            return False
        return self._marked_twin("frozen", self.judge.freezes, stressed=False).run().verdict == REPEATS

    def settle(self, last: Round, result: CheckResult, *, alone: bool) -> tuple[Round, CheckResult]:
        if self.judge is not None:
            if self.found.verdict == REPEATS:
                self.judge.frozen = self.round
                return last, result.replace(notes=(*result.notes, *self._notes))
            if not self._is_race():  # what is frozen may reach training, and mean nothing
                self.judge = None
                self.ask(last.screen)
        again, found = self.round, self.found
        if not self._by_pair and (found.verdict == DIVERGES or _is_vague(found)):
            # Twins that are held at their difference can be asked for values. A race may not show again.
            pair = last.again("stress-pair", **self._changes)
            by_pair = pair.run()
            if by_pair.verdict == DIVERGES or found.verdict != DIVERGES:
                again, found = pair, by_pair
        notes = (*result.notes, *self._notes)
        if found.verdict == DIVERGES:
            options = again.options
            conditions = replace(result.conditions, stress=options.stressed, varied=options.variations)
            return again, found.replace(conditions=conditions, notes=(*notes, *found.notes))
        if found.verdict == UNDECIDED:
            notes = (*notes, f"that was inconclusive after {again.seconds:.0f} s: {found.reason}")
        return last, result.replace(notes=notes)


def _is_vague(found: CheckResult) -> bool:
    """Whether living twins may know what a recording does not: values, or which tensor it is."""
    first = found.first_bit_difference
    rolled_up = first is not None and first.tensor == ROLLED_UP
    return rolled_up or found.reason_kind in ("unmeasured", "not-comparable")


def _wanted_looks(last: Round) -> Iterable[SecondLook]:
    """What the sources ask for, each intervention once; not what was done already."""
    asked = set(last.options.interventions)
    events = [event for facts in last.facts for event in facts.events]
    for source in sources():
        looks = [source.second_look(events)]
        if last.options.workers > 1:
            looks.append(source.cluster_look(events))
        for look in looks:
            if look is None or look.intervention in asked:
                continue
            if last.options.experiment and not isinstance(look.intervention, Stress):
                continue
            asked.add(look.intervention)
            yield look
