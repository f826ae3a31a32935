"""The search, in a world that is made up: it must name exactly the causes that are needed, whatever else is suspected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from twinrun.comparison.frames import Difference
from twinrun.diagnose.experiments import Trial
from twinrun.diagnose.search import Search
from twinrun.protocol.evidence import Evidence
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.suspect import Suspect
from twinrun.result import CheckResult

NAMES = ["keras-seed", "hash", "shuffle", "order", "thread", "file"]


class World:
    """Each cause makes the twins differ at its own step; freezing it takes that difference away."""

    def __init__(self, causes: dict[str, int], suspects: list[str]) -> None:
        self.causes = causes
        self.suspects = suspects
        self.steps = 20
        self.trials: list[Trial] = []

    def evidence(self, frozen: set[str]) -> Evidence | None:
        left = [step for name, step in self.causes.items() if name not in frozen]
        return Evidence(Difference(min(left), "batch", "x"), ()) if left else None

    def freeze(self, suspects: Iterable[Suspect], *, what: str | None = None, **extra: Any) -> Trial | None:
        seen = self.evidence({suspect.source for suspect in suspects})
        result = CheckResult("train.py", "diverges" if seen else "repeats", steps_compared=20)
        trial = Trial(what or "", result, 1.0, seen)
        self.trials.append(trial)
        return trial

    def suspected(self, _: Evidence) -> list[Suspect]:
        return [
            Suspect(
                name,
                "TW101",
                name,
                (Freeze(name, "draw", "train.py", 1),),
                rank=10 + len(self.suspects) - place,
            )
            for place, name in enumerate(self.suspects)
        ]

    def explained(self) -> Search:
        search = Search(self, self.suspected)
        first = self.evidence(set())
        assert first is not None
        search.explain(first)
        return search


@given(
    st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9), min_size=1, max_size=3), st.permutations(NAMES)
)
def test_exactly_the_causes_that_are_needed_are_named(causes: dict[str, int], suspects: list[str]) -> None:
    search = World(causes, suspects).explained()
    assert {finding.message for finding in search.findings} == set(causes)
    assert all(finding.confirmed for finding in search.findings)


@given(
    st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9), min_size=1, max_size=2), st.permutations(NAMES)
)
def test_a_cause_nobody_suspects_is_never_explained_by_another(
    causes: dict[str, int], suspects: list[str]
) -> None:
    hidden = next(iter(causes))
    search = World(causes, [name for name in suspects if name != hidden]).explained()
    assert not any(finding.confirmed for finding in search.findings)
    assert any("no cause found" in note for note in search.notes)


def test_one_cause_among_one_suspect_takes_one_experiment() -> None:
    world = World({"shuffle": 1}, ["shuffle"])
    world.explained()
    assert len(world.trials) == 1


def test_the_three_likeliest_are_tried_alone_before_all_together() -> None:
    world = World({"thread": 1}, ["shuffle", "order", "thread", "file"])
    world.explained()
    assert [trial.what for trial in world.trials] == ["", "", ""]


def test_a_suspect_that_no_experiment_can_freeze_is_never_confirmed() -> None:
    world = World({"listing": 1}, [])
    suspect = Suspect("listing", "TW304", "other files", rank=10)
    search = Search(world, lambda _: [suspect])
    first = world.evidence(set())
    assert first is not None
    search.explain(first)
    assert [(finding.confirmed, finding.message) for finding in search.findings] == [(False, "other files")]


class ShortWorld(World):
    """Time for so many experiments, and no more."""

    def __init__(self, causes: dict[str, int], suspects: list[str], most: int) -> None:
        super().__init__(causes, suspects)
        self.most = most

    def freeze(self, suspects: Iterable[Suspect], *, what: str | None = None, **extra: Any) -> Trial | None:
        return super().freeze(suspects, what=what) if len(self.trials) < self.most else None


@given(st.permutations(NAMES), st.integers(0, 12))
def test_what_was_not_shown_to_be_needed_is_never_confirmed(suspects: list[str], most: int) -> None:
    causes = {"shuffle": 1, "thread": 1}
    search = ShortWorld(causes, suspects, most).explained()
    assert {finding.message for finding in search.findings if finding.confirmed} <= set(causes)
