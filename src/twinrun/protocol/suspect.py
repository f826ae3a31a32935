"""A suspect: a possible cause, with the experiment that would show whether it is one."""

from __future__ import annotations

from dataclasses import dataclass

from twinrun.protocol.intervention import Freeze


@dataclass(frozen=True)
class Weight:
    """How likely a source is the cause, by where the twins part. An experiment of its own is worth a weight of 3."""

    init: int = 1
    batch: int = 1
    later: int = 1

    def at(self, phase: str) -> int:
        return int(getattr(self, phase))

    def ahead(self, phase: str) -> int:
        """The most at this phase and those that come after it."""
        return max(self.batch, self.later, self.init if phase == "init" else 0)

    def plus(self, bonus: int) -> Weight:
        return Weight(self.init + bonus, self.batch + bonus, self.later + bonus)


@dataclass(frozen=True)
class Remedy:
    """A control that often helps. It is pinned in an experiment before it is advised: it may refuse, or not help here."""

    control: str
    written: str  # how it looks in a fix
    instead: str = ""  # what to write where it does not help


@dataclass(frozen=True)
class Suspect:
    """One place that may be to blame: `message` quotes what stands at `file` and `line`, so that a finding never names
    one line and quotes another. Suspects with one fix, such as all draws from a stream that has no seed, have the same
    `fix`, and become one finding, also where they are of several sources. `freeze` is the experiment; without one it stays a suspect, and never becomes more.
    `experiment` says in words what the experiment does ("with np.random.rand frozen there")."""

    source: str
    code: str
    message: str
    freeze: tuple[Freeze, ...] = ()
    file: str | None = None
    line: int | None = None
    weight: Weight = Weight()
    notes: tuple[str, ...] = ()
    experiment: str = ""
    advice: str = ""  # what to write instead, where neither the catalogue nor the source says it
    in_words: str = ""  # the same where the line cannot be rewritten and the catalogue is too general
    fix: str = ""  # what suspects of this code share that one change fixes; empty: each has a fix of its own
    sequential: bool = False  # the experiment runs the twins one after the other
    remedy: Remedy | None = None  # what is advised, where it is tried before
    last_resort: bool = False  # tried in place of what else the source suspects, where that does not help
    rank: int = 0  # how likely it made the twins part where they do
    ahead: int = 0  # how likely it does so there or later

    @property
    def testable(self) -> bool:
        return bool(self.freeze)

    @property
    def likelihood(self) -> int:
        """How likely it is to be a cause at all."""
        return max(self.rank, self.ahead)

    @property
    def key(self) -> tuple[str, str, tuple[Freeze, ...]]:
        return (self.source, self.code, self.freeze)

    @property
    def family(self) -> tuple[str, str, str]:
        """Suspects that are left out of an experiment together: innocent or guilty, they mostly are so together."""
        return ("" if self.fix else self.source, self.code, self.fix)
