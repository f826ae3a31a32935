"""What stays the same when a program runs with another number of workers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from twinrun.counted import counted


class Quantity(Struct, frozen=True):
    """What became of a quantity with another number of workers. Tensors are `equal` bit for bit, `within` the contract, or
    `different`; a number is `kept` or `changed`; `unknown` is what was not observed. The distance is the largest of all
    steps."""

    name: str
    outcome: Literal["equal", "within", "different", "kept", "changed", "unknown"]
    how: str = ""  # it was compared
    note: str = ""  # the numbers, where the difference is, or why nothing is known
    step: int | None = None  # the first at which the bits differ
    tensor: str = ""  # there
    max_ulp: int | None = None
    max_abs: float | None = None
    judged: bool = False  # part of the verdict

    def in_words(self, contract: str) -> str:
        """The outcome, as a line with the quantity's name in front."""
        how = f" ({self.how})" if self.how else ""
        parts = [_OUTCOMES.get(self.outcome, self.outcome).format(contract)]
        if self.step is not None:
            where = f" ({self.tensor})" if self.tensor else ""
            parts.append(f"the bits differ from step {self.step} on{where}")
        if self.max_abs is not None:
            parts.append(f"max abs difference {self.max_abs:.3g}")
        return f"{self.name}{how}: {', '.join(parts)}" + (f": {self.note}" if self.note else "")


_OUTCOMES = {
    "equal": "equal bit for bit",
    "within": "within {}",
    "changed": "not kept",
    "unknown": "not observed",
}


class WorkerCount(Struct, frozen=True):
    """One run with so many workers, and how it compares with the first of the runs, which has no quantities."""

    workers: int
    steps: int
    quantities: tuple[Quantity, ...] = ()

    def __str__(self) -> str:
        return counted(self.workers, "worker")
