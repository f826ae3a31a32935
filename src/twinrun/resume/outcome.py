"""What `twinrun resume` found: each stop, where the restarted program went on, and what was not restored."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from msgspec import Struct

from twinrun.comparison.frames import Difference
from twinrun.findings.finding import Finding
from twinrun.result import Judged

SCHEMA: Final = "twinrun/resume/1"

Part = Literal[
    "start",  # it did not resume at all
    "saving",  # nor did it after a kill in the middle of a save
    "loading",  # what the stopped run left keeps it from starting
    "training",  # or from training to its end
    "weights",
    "optimizer",
    "iteration",
    "learning-rate",
    "seeds",
    "data-position",
    "data-order",
    "data",  # batches that the uninterrupted run was never fed
    "steps",  # how many are left
    "metrics",
    "unseen",  # no variable and no batch: what is kept in Python, or in an op
]


class Hole(Struct, frozen=True):
    """One part of the state that was not restored, and how that shows."""

    part: Part
    detail: str
    tensors: tuple[str, ...] = ()


class Files(Struct, frozen=True):
    """What the program left in its folder when it had resumed and ended, against what the uninterrupted run left there.
    `texts` have all lines of the uninterrupted run's and more between them, as a log that tells of the restart, or differ
    in what arrays are called."""

    equal: int = 0
    different: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


Outcome = Literal["equal", "differs", "started-over", "failed", "undecided"]


class Stop(Struct, frozen=True):
    """One interruption. `at` is the step that was done when the signal was sent; `resumed_after` the step after which the
    restarted program went on, None where it is that of no step."""

    at: int
    during_save: bool = False
    outcome: Outcome = "equal"
    resumed_after: int | None = None
    steps: int = 0  # that the restarted program took
    first_difference: Difference | None = None
    holes: tuple[Hole, ...] = ()
    files: Files | None = None  # None: not compared
    reason: str | None = None
    notes: tuple[str, ...] = ()
    output_tail: str | None = None

    @property
    def place(self) -> str:
        return f"stopped {'as it saved ' if self.during_save else ''}after step {self.at}"


class ResumeResult(Judged, frozen=True, tag_field="schema", tag=SCHEMA):
    """`repeats`: something was resumed, and after every stop the run was equal to the uninterrupted one."""

    AS_IS: ClassVar[tuple[str, ...]] = (*Judged.AS_IS, "recordings", "signal")
    signal: str = "SIGKILL"
    steps: int = 0  # of the uninterrupted run
    children: int = 0  # processes that it started and that trained
    checkpoints: tuple[int, ...] = ()  # the steps after which files were written
    stops: tuple[Stop, ...] = ()
    findings: tuple[Finding, ...] = ()
    recordings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    output_tail: str | None = None
