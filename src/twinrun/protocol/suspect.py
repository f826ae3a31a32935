"""A suspect: a possible cause, with the experiment that would show whether it is one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from twinrun.protocol.intervention import Freeze


@dataclass(frozen=True)
class Weight:
    """How likely a source is the cause, by where the twins part. An experiment of its own is worth a weight of 3."""

    init: int = 1
    batch: int = 1
    later: int = 1

    def at(self, phase: str) -> int:
        return int(getattr(self, phase))

    def plus(self, bonus: int) -> Weight:
        return Weight(self.init + bonus, self.batch + bonus, self.later + bonus)


@dataclass(frozen=True)
class Suspect:
    """`freeze` is the experiment, first line to blame first; without one it stays a suspect, and never becomes more.
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
    in_words: str = (
        ""  # the same where the line cannot be rewritten, and the catalogue's advice is too general
    )
    sequential: bool = False  # the experiment runs the twins one after the other
    narrows: bool = False  # one of several lines may be enough: each is tried alone
    rank: int = 0

    @property
    def testable(self) -> bool:
        return bool(self.freeze)

    def only(self, freeze: Freeze) -> Suspect:
        """The same suspect at one of its lines."""
        return replace(self, freeze=(freeze,), file=freeze.file, line=freeze.line)

    @property
    def key(self) -> tuple[str, str, tuple[Freeze, ...]]:
        return (self.source, self.code, self.freeze)
