"""A source of nondeterminism: one class that holds everything known about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from twinrun.protocol.control import Control
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, Trace
from twinrun.protocol.intervention import Freeze, Stress, Vary
from twinrun.protocol.point import Point
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.protocol.variation import Variation

if TYPE_CHECKING:
    from twinrun.findings.entries import Entry


@dataclass(frozen=True)
class SecondLook:
    """Why twins that agree should run once more, and what to change: what differs only then would have differed
    some other day."""

    why: str
    intervention: Stress | Vary
    how: str = "with CPU affinity shuffled in one twin"  # what the intervention does, in words
    # Asks no less than the intervention does, and what the twin delivers then shows where its values came from. What
    # it changes may matter to a program where the intervention would not.
    marked: Freeze | None = None


class Source:
    """Subclasses set what applies to them and leave the rest. `points`, `start` and the functions of `controls` run
    inside the program's process; everything else runs in the parent, without any framework imported."""

    name: str = ""
    codes: tuple[str, ...] = ()
    entries: Sequence[Entry] = ()  # catalogue entries of codes that the source brings along
    points: Sequence[Point] = ()
    controls: Sequence[Control] = ()
    variations: Sequence[Variation] = ()
    actions: tuple[str, ...] = ()  # what `--freeze` can name, beside the source itself
    weight: Weight = Weight()
    makes_seeds: bool = False  # its values often end up as the seed of another source
    # Uses of another source by these libraries belong to this one: Keras draws its default seeds from Python's random.
    claims: Mapping[str, tuple[str, ...]] = {}
    files: bool = False  # freezing it means that every twin starts from the same files

    # inside the program's process

    def start(self, session: Any) -> None:
        """Called before the program starts, for what is not the replacement of one function."""

    def used_before(self) -> list[str]:
        """What was already drawn or built from it in this process, in words: a seed set now comes too late for it."""
        return []

    # in the parent

    def suspects(self, evidence: Evidence) -> Iterable[Suspect]:
        """What may have caused the difference, by this source's events. Values that were equal in both twins are
        no suspects, however unseeded."""
        return ()

    def reached_by(self, variation: str, evidence: Evidence) -> Iterable[Suspect]:
        """The lines through which one of its variations may reach training."""
        return ()

    def blame_op(self, traces: tuple[Trace, Trace], evidence: Evidence, *, pipeline: bool) -> Suspect | None:
        """The op to blame, where ops were traced; it is confirmed by the trace itself. Only `ops` answers."""
        return None

    def blame_device(self, evidence: Evidence) -> Suspect | None:
        """What to blame where twins part that differ in their devices alone, with the op, where ops were traced. Only
        `device` answers."""
        return None

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        return None

    def cluster_look(self, events: Iterable[Event]) -> SecondLook | None:
        """The same for workers of a cluster, which may run on machines that differ."""
        return None

    def is_shown(self, event: Event) -> bool:
        """Whether programs mostly show the values of such a use, in their output or the names of files, and compute
        nothing with them."""
        return False

    def is_sequential(self, event: Event) -> bool:
        """Whether two twins cannot have the same frozen value at the same time."""
        return False

    def freeze_environment(self, freeze: Freeze) -> Mapping[str, str]:
        """Environment variables that a twin must be started with for this freeze."""
        return {}

    # for subclasses

    @property
    def code(self) -> str:
        """The code of its usual finding."""
        return self.codes[0]

    def suspect(self, events: Sequence[Event], message: str, **fields: Any) -> Suspect:
        """A suspect at the line of the first event, whose experiment freezes all of them. `fields` are what is
        different about it, or to be added."""
        first = events[0]
        freeze = tuple(Freeze.at(event) for event in events)
        usual = Suspect(self.name, self.code, message, freeze, first.file, first.line, self.weight)
        return replace(usual, **fields)

    def events_of(self, events: Iterable[Event], *actions: str) -> Iterator[Event]:
        return (e for e in events if e.source == self.name and (not actions or e.action in actions))
