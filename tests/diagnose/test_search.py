"""The search, in a world that is made up: it must name exactly the causes that are needed, whatever else is suspected,
however races fall, and whenever its time is over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as replace_struct

from twinrun.comparison.frames import Difference
from twinrun.diagnose.experiments import Trial
from twinrun.diagnose.likely import likely_findings
from twinrun.diagnose.search import Search
from twinrun.findings.finding import Finding
from twinrun.launch.options import CheckOptions
from twinrun.launch.program import Program
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, Trace, TracedOp
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.suspect import Suspect
from twinrun.result import CheckResult

NAMES = ["keras-seed", "hash", "shuffle", "order", "thread", "file", "clock", "entropy"]
PLACES = [(0, "init"), (1, "batch"), (1, "loss"), (2, "batch"), (3, "weights")]
LIKELY, UNLIKELY = 9, 2


def suspect(name: str, rank: int = LIKELY, line: int = 1, **more: Any) -> Suspect:
    freeze = (Freeze(name, "draw", "/p/train.py", line),)
    return Suspect(name, "TW101", f"{name}:{line}", freeze, "/p/train.py", line, rank=rank, **more)


def explain(search: Search, evidence: Evidence) -> None:
    search.freeze_everything(evidence)
    search.leave_out()
    search.confirm()


@dataclass
class World:
    """A laboratory. Each cause makes the twins differ at its own place; freezing it takes that difference away. Those
    that race do so only when `luck` does not help: it helps the same experiment twice at most."""

    causes: dict[str, tuple[int, str]]
    suspects: list[Suspect]
    hidden_behind: dict[str, str] = field(default_factory=dict)  # suspected only where that is frozen
    racing: frozenset[str] = frozenset()
    luck: Sequence[bool] = ()
    most: int = 1000  # experiments that there is time for
    at_once: int = 1
    steps: int = 20
    trials: list[Trial] = field(default_factory=list)
    side_by_side: int = 0
    known_to_race: bool = True
    most_luck: int = 2

    @contextlib.contextmanager
    def ending_at(self, step: int) -> Iterator[None]:
        yield

    def frozen(self, suspects: Iterable[Suspect]) -> frozenset[str]:
        return frozenset(str(freeze) for suspect in suspects for freeze in suspect.freeze)

    def known(self, interventions: frozenset[str], tracing: str = "") -> Trial | None:
        return next((trial for trial in self.trials if trial.interventions == interventions), None)

    @property
    def spent(self) -> bool:
        return len(self.trials) >= self.most

    def evidence(self, names: set[str]) -> Evidence | None:
        left = [place for name, place in self.causes.items() if name not in names and not self._by_luck(name)]
        if not left:
            return None
        step, phase = min(left, key=PLACES.index)
        return Evidence(Difference(step, phase, ",".join(sorted(names))))

    def _by_luck(self, name: str) -> bool:
        turn = len(self.trials)
        return name in self.racing and turn < len(self.luck) and self.luck[turn]

    def freeze(self, suspects: Iterable[Suspect], *, what: str | None = None, **extra: Any) -> Trial | None:
        if self.spent:
            return None
        suspects = list(suspects)
        names = {one.message for one in suspects}
        lucky = sum(
            self.luck[turn]
            for turn, trial in enumerate(self.trials[: len(self.luck)])
            if trial.interventions == self.frozen(suspects)
        )
        if lucky >= self.most_luck:
            self.luck = [*self.luck[: len(self.trials)], False, *self.luck[len(self.trials) + 1 :]]
        seen = self.evidence(names)
        first = seen.first if seen else None
        result = CheckResult("train.py", "diverges" if seen else "repeats", None, None, steps_compared=20)
        result = result.replace(first_difference=first)
        trial = Trial(what or "", result, 1.0, seen, interventions=self.frozen(suspects))
        self.trials.append(trial)
        return trial

    def freeze_side_by_side(self, wanted: Sequence[tuple[list[Suspect], str]]) -> None:
        self.side_by_side += len(wanted)
        for suspects, what in wanted:
            self.freeze(suspects, what=what)

    def suspected(self, evidence: Evidence) -> list[Suspect]:
        names = evidence.first.tensor.split(",")
        return [s for s in self.suspects if self.hidden_behind.get(s.message) in (None, *names)]

    def explained(self) -> Search:
        search = Search(self, self.suspected, may_race=bool(self.racing) and self.known_to_race)
        lucky, self.luck = self.luck, ()
        first = self.evidence(set())
        self.luck = lucky
        assert first is not None
        explain(search, first)
        search.findings += likely_findings(search, first, ())
        return search


def confirmed(findings: Iterable[Finding]) -> set[str]:
    return {finding.message.partition(" (and")[0] for finding in findings if finding.confirmed}


def named(findings: Iterable[Finding]) -> set[str]:
    return {finding.message.partition(" (and")[0] for finding in findings}


guilt = st.dictionaries(st.sampled_from(NAMES[:6]), st.sampled_from(PLACES), min_size=1, max_size=5)


@st.composite
def worlds(draw: st.DrawFn, **more: Any) -> World:
    """Guilty ones are mostly likely by their rank, and innocent ones mostly not."""
    guilty = {f"{name}:1": place for name, place in draw(guilt).items()}
    ranks = st.integers(-2, 12)
    suspects = [suspect(name, draw(ranks)) for name in draw(st.permutations(NAMES))]
    suspects.sort(key=lambda each: -each.rank)
    front = min(guilty, key=lambda name: PLACES.index(guilty[name]))
    behind = draw(st.sets(st.sampled_from([f"{name}:1" for name in NAMES]))) - {front}
    hidden = dict.fromkeys(behind, front)
    return World(guilty, suspects, hidden, at_once=draw(st.integers(1, 3)), **more)


@given(worlds())
def test_exactly_the_causes_are_confirmed(world: World) -> None:
    search = world.explained()
    assert confirmed(search.findings) == named(search.findings) == set(world.causes)
    assert search.explained


@given(worlds(), st.integers(0, 14))
def test_time_that_runs_out_costs_certainty_and_never_the_answer(world: World, most: int) -> None:
    world.most, world.hidden_behind = most, {}
    ranks = {suspect.message: suspect.rank for suspect in world.suspects}
    search = world.explained()
    assert confirmed(search.findings) <= set(world.causes)
    if any(ranks[cause] >= 7 for cause in world.causes):
        assert search.findings
    assert {cause for cause in world.causes if ranks[cause] >= 7} <= named(search.findings)


@given(worlds(), st.lists(st.booleans(), min_size=80, max_size=80), st.integers(0, 5))
def test_a_race_that_repeats_by_luck_makes_nobody_guilty(world: World, luck: list[bool], which: int) -> None:
    world.racing = frozenset([sorted(world.causes)[which % len(world.causes)]])
    world.luck = luck
    search = world.explained()
    assert confirmed(search.findings) <= set(world.causes)


@given(worlds(), st.lists(st.booleans(), min_size=80, max_size=80))
def test_a_race_that_nobody_suspects_makes_nobody_guilty(world: World, luck: list[bool]) -> None:
    world.causes["unknown"] = (1, "loss")
    world.racing, world.luck = frozenset(["unknown"]), luck
    search = world.explained()
    assert confirmed(search.findings) <= set(world.causes)


@given(worlds(), st.lists(st.booleans(), min_size=80, max_size=80))
def test_a_race_that_nobody_knows_of_makes_nobody_guilty(world: World, luck: list[bool]) -> None:
    world.causes["unknown"] = (1, "loss")
    world.racing, world.known_to_race = frozenset(["unknown"]), False
    world.luck, world.most_luck = luck, 1
    search = world.explained()
    assert confirmed(search.findings) <= set(world.causes)


@given(worlds())
def test_a_cause_nobody_suspects_is_never_explained_by_another(world: World) -> None:
    hidden = sorted(world.causes)[0]
    world.suspects = [suspect for suspect in world.suspects if suspect.message != hidden]
    world.hidden_behind = {}
    search = world.explained()
    assert confirmed(search.findings) <= set(world.causes) - {hidden}
    assert not search.explained


@given(
    st.sets(st.sampled_from(NAMES), min_size=1, max_size=6),
    st.lists(st.integers(1, 6), min_size=8, max_size=8),
)
def test_few_experiments_are_enough(guilty: set[str], ranks: list[int]) -> None:
    """One with everything, one for each cause, and a few to be rid of the rest."""
    suspects = [suspect(n, 9 if n in guilty else rank) for n, rank in zip(NAMES, ranks, strict=True)]
    world = World({f"{name}:1": (0, "init") for name in guilty}, suspects)
    assert confirmed(world.explained().findings) == set(world.causes)
    assert len(world.trials) <= len(guilty) + 2


@given(st.sampled_from(NAMES))
def test_an_unlikely_cause_is_found_by_halves(guilty: str) -> None:
    world = World({f"{guilty}:1": (0, "init")}, [suspect(name, UNLIKELY) for name in NAMES])
    assert confirmed(world.explained().findings) == {f"{guilty}:1"}
    assert len(world.trials) <= 2 + 2 * ceil(log2(len(NAMES)))


def test_one_cause_among_one_suspect_takes_one_experiment() -> None:
    world = World({"shuffle:1": (1, "batch")}, [suspect("shuffle")])
    world.explained()
    assert len(world.trials) == 1


def test_what_nothing_speaks_for_is_frozen_only_where_the_rest_is_not_enough() -> None:
    both = [suspect("shuffle"), suspect("hash", -19)]
    world = World({"shuffle:1": (1, "batch")}, both)
    assert confirmed(world.explained().findings) == {"shuffle:1"} and len(world.trials) == 1
    world = World({"hash:1": (1, "batch")}, both)
    assert confirmed(world.explained().findings) == {"hash:1"}


@given(st.sets(st.integers(1, 5), min_size=1))
def test_lines_that_share_a_fix_are_one_finding_at_the_first_line_that_matters(guilty: set[int]) -> None:
    lines = [suspect("numpy", line=line, fix="seed") for line in range(1, 6)]
    world = World({f"numpy:{line}": (1, "batch") for line in guilty}, lines)
    [finding] = world.explained().findings
    assert finding.confirmed and finding.line == min(guilty)
    assert finding.message.startswith(f"numpy:{finding.line}")


@given(
    st.sets(st.sampled_from(["hash", "order"])),
    st.permutations([LIKELY, UNLIKELY]),
    st.booleans(),
)
def test_sources_that_share_a_fix_are_one_finding(guilty: set[str], ranks: list[int], more: bool) -> None:
    """Also where something that nobody suspects keeps the twins apart, so that little can be settled."""
    causes = {f"{name}:1": (0, "init") for name in guilty}
    if more or not guilty:
        causes["unknown"] = (2, "batch")
    suspects = [suspect(n, rank, fix="line 1") for n, rank in zip(["hash", "order"], ranks, strict=True)]
    search = World(causes, suspects).explained()
    assert len(search.findings) == 1 if guilty else not confirmed(search.findings)
    assert confirmed(search.findings) <= set(causes)
    if len(guilty) == 1:
        assert named(search.findings) == {f"{name}:1" for name in guilty}
        assert [each.message for each in search.frozen] == [f"{name}:1" for name in guilty]


@given(st.sets(st.integers(1, 5), min_size=1))
def test_lines_with_a_fix_of_their_own_are_findings_of_their_own(guilty: set[int]) -> None:
    lines = [suspect("clock", UNLIKELY, line) for line in range(1, 6)]
    world = World({f"clock:{line}": (1, "batch") for line in guilty}, lines)
    findings = world.explained().findings
    assert {finding.line for finding in findings if finding.confirmed} == guilty


def test_where_something_may_race_three_runs_must_agree() -> None:
    world = World({"thread:1": (1, "batch")}, [suspect("thread")], racing=frozenset(["thread:1"]))
    [finding] = world.explained().findings
    assert finding.confirmed
    assert (
        "the twins repeat for 20 steps (3 of 3 runs); without it they differ (3 of 3 runs)"
        in finding.evidence[-1]
    )


def test_a_racing_cause_that_repeats_by_luck_is_not_dropped_for_it() -> None:
    world = World(
        {"thread:1": (1, "batch"), "shuffle:1": (1, "batch")}, [suspect("thread"), suspect("shuffle", 8)],
        racing=frozenset(["thread:1"]), luck=[False, True, True, False, True],
    )  # fmt: skip
    assert confirmed(world.explained().findings) == {"thread:1", "shuffle:1"}


def test_what_is_tried_in_place_of_another_is_tried_only_where_that_does_not_help() -> None:
    turns, omitted = suspect("thread", line=1), suspect("thread", line=2, last_resort=True)
    world = World({"thread:2": (1, "batch")}, [turns, omitted])
    assert confirmed(world.explained().findings) == {"thread:2"}
    world = World({"thread:1": (1, "batch")}, [turns, omitted])
    assert confirmed(world.explained().findings) == {"thread:1"}
    assert len(world.trials) == 1


def test_a_suspect_that_no_experiment_can_freeze_is_never_confirmed() -> None:
    untestable = Suspect("listing", "TW304", "other files", rank=9)
    [finding] = World({"listing": (1, "batch")}, [untestable]).explained().findings
    assert (finding.confirmed, finding.message) == (False, "other files")


def test_with_room_for_several_experiments_they_run_side_by_side() -> None:
    names = ["keras-seed", "hash", "shuffle"]
    world = World({f"{n}:1": (0, "init") for n in names}, [suspect(n) for n in names], at_once=3)
    assert confirmed(world.explained().findings) == set(world.causes)
    assert world.side_by_side == 3 and len(world.trials) == 4


def audited(code: str = "TW203", line: int = 7) -> Finding:
    return Finding(code, "name", "the map races", "/p/train.py", line)


def likely(world: World, *, read: Sequence[Finding] = (), **evidence: Any) -> list[tuple[str, int | None]]:
    """What is reported as likely, by code and line. The evidence of the check is that of the world, with this added."""
    search = Search(world, world.suspected)
    first = world.evidence(set())
    assert first is not None
    first = replace(first, **evidence)
    explain(search, first)
    return [(finding.code, finding.line) for finding in likely_findings(search, first, read)]


@dataclass
class Traced(World):
    """A laboratory in which a comparison of ops shows `seen`."""

    seen: Evidence = field(kw_only=True)
    options: CheckOptions = field(default_factory=lambda: CheckOptions(Program("train.py")))

    def known(self, interventions: frozenset[str], tracing: str = "") -> Trial | None:
        return None if tracing else super().known(interventions)

    def freeze(self, suspects: Iterable[Suspect], **more: Any) -> Trial | None:
        if not more.get("tracing"):
            return super().freeze(suspects, **more)
        result = CheckResult("train.py", "diverges", first_difference=self.seen.first)
        return Trial("", result, 1.0, self.seen, tracing="step")

    def pin(self, control: str, *, frozen: Sequence[Suspect] = ()) -> Trial | None:
        return None


SUMS = tuple(
    Trace([TracedOp(op="UnsortedSegmentSum", inputs=["x"], outputs=[out], line=3)]) for out in ("y", "z")
)
CHECKED = ("batch", "loss", "weights")


@pytest.mark.parametrize(
    ("step", "phase", "blamed"),
    [
        (3, "weights", True),
        (1, "weights", True),
        (3, "loss", False),
        (1, "loss", False),
        (3, "forward", False),
    ],
)
def test_an_op_is_blamed_only_where_the_loss_is_as_equal_as_it_was_in_the_check(
    step: int, phase: str, blamed: bool
) -> None:
    """That it differs at an earlier step says nothing: it may race."""
    seen = Evidence(Difference(step, phase, "x"), traces=SUMS, compared=CHECKED)
    search = Search(Traced({}, [], seen=seen), lambda evidence: [])
    explain(search, Evidence(Difference(3, "weights", "w"), compared=CHECKED))
    assert confirmed(search.findings) == (
        {"UnsortedSegmentSum gives different results for the same inputs"} if blamed else set()
    )
    assert any("that is not what made them differ" in note for note in search.notes) is not blamed


def test_an_op_is_blamed_where_the_loss_differed_in_the_check_too() -> None:
    seen = Evidence(Difference(1, "forward", "x"), traces=SUMS, compared=CHECKED)
    search = Search(Traced({}, [], seen=seen), lambda evidence: [])
    explain(search, Evidence(Difference(3, "loss", "loss"), compared=CHECKED))
    assert len(confirmed(search.findings)) == 1 and not search.notes
    # The steps of a run that is traced may be others than those of the check.
    assert any(each.endswith("up to step 1 of that run") for each in search.findings[0].evidence)


@pytest.mark.parametrize("rank", [3, LIKELY])
def test_an_op_after_the_loss_is_blamed_for_a_loss_only_where_freezing_does_not_help(rank: int) -> None:
    seen = Evidence(Difference(1, "weights", "w"), traces=SUMS, compared=CHECKED)
    check = Evidence(Difference(1, "loss", "clock:1"), compared=CHECKED)
    clock = suspect("clock", rank)
    search = Search(Traced({"clock:1": (1, "loss")}, [], seen=seen), lambda evidence: [clock])
    explain(search, check)
    assert confirmed(search.findings) == {"clock:1"}
    search = Search(Traced({"unknown": (1, "loss")}, [], seen=seen), lambda evidence: [clock])
    explain(search, check)
    assert confirmed(search.findings) == {"UnsortedSegmentSum gives different results for the same inputs"}
    assert any("which differed in the check" in note for note in search.notes)


def test_where_not_every_op_was_traced_a_note_says_so() -> None:
    traces = tuple(replace_struct(trace, step=[], cut=True) for trace in SUMS)
    seen = Evidence(Difference(3, "weights", "w"), traces=traces, compared=CHECKED)
    search = Search(Traced({}, [], seen=seen), lambda evidence: [])
    explain(search, Evidence(Difference(3, "weights", "w"), compared=CHECKED))
    assert search.notes == ["only the first 20,000 ops were compared between the twins"]


def test_what_an_audit_names_is_likely_where_nothing_else_is_known() -> None:
    world = World({"map": (1, "batch")}, [])
    assert likely(world, read=[audited()]) == [("TW203", 7)]
    assert likely(world, datasets=(audited(),)) == [("TW203", 7)]
    assert likely(world, read=[audited()], datasets=(audited(), audited("TW202"))) == [
        ("TW203", 7),
        ("TW202", 7),
    ]


def test_what_an_audit_names_is_not_reported_where_the_twins_speak_against_it() -> None:
    assert likely(World({"weights": (0, "init")}, []), datasets=(audited(),)) == []
    computed = World({"op": (1, "loss")}, [])
    assert likely(computed, datasets=(audited(),)) == [("TW203", 7)]  # no batch was compared
    assert likely(computed, datasets=(audited(),), compared=("batch",)) == []
    drawn = Event(
        source="numpy-random", action="draw", file="/p/train.py", line=7, function="f", call="rand", size=8
    )
    world = World({"map": (1, "batch")}, [])
    assert likely(world, datasets=(audited(),), pairs=((drawn, drawn),)) == []
    assert likely(world, datasets=(audited("TW107"), audited("TW302"))) == []  # equal in twins


def test_what_an_audit_names_is_reported_once() -> None:
    known = World(
        {"shuffle:1": (1, "batch"), "unknown": (2, "batch")}, [replace(suspect("shuffle"), code="TW201")]
    )
    seen = (audited("TW201", 1), audited("TW106", 1), audited("TW201", 5))
    assert likely(known, datasets=seen) == [("TW201", 5)]  # the line is confirmed, another is not
    everything = World({"shuffle:1": (1, "batch")}, [suspect("shuffle")])
    assert likely(everything, datasets=seen) == []  # with that frozen the twins repeat


def test_an_audit_that_finds_a_race_makes_three_runs_necessary() -> None:
    world = World({"thread:1": (1, "batch")}, [suspect("thread")])
    likely(world, datasets=(audited(),))
    assert len(world.trials) == 5  # three with it frozen; two without, and the check is the third


def test_an_unlikely_suspect_is_reported_without_proof_only_where_the_audit_agrees() -> None:
    world = World(
        {"clock:1": (1, "loss"), "hash:1": (1, "loss")}, [suspect("clock", 5), suspect("hash", 5)], most=0
    )
    search = Search(world, world.suspected)
    first = world.evidence(set())
    assert first is not None
    explain(search, first)
    assert likely_findings(search, first, []) == []
    audited = Finding("TW101", "unseeded-python-random", "hash", "/p/train.py", 1)
    assert named(likely_findings(search, first, [audited])) >= {"hash:1"}
