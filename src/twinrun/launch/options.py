"""What a check is asked to do, and what is shown while it does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from twinrun.comparison.contract import BITWISE, Contract
from twinrun.comparison.judge import Judge
from twinrun.launch.program import Program
from twinrun.launch.twin_process import Twin
from twinrun.launch.vary import NO_VARIATION, Variation


@dataclass(frozen=True)
class CheckOptions:
    program: Program
    runs: int = 2
    steps: int | None = None
    contract: Contract = BITWISE
    pin: Any = None  # a controls.request.PinRequest
    variation: Variation = NO_VARIATION
    sequential: bool = False
    timeout: float | None = None
    detail: bool = False
    ledger: bool = True
    folder: str | None = None
    experiment: dict[str, Any] = field(default_factory=dict)
    jostle: bool = False  # push the threads of all twins but the first about, so that races show
    inquiry: bool = False  # an experiment of a diagnosis: it asks one question, as it was put
    before_twin: Callable[[], None] | None = None  # an experiment may put the outside world back first


class Screen:
    """What is shown while a check runs. This one shows nothing."""

    def twins(self, twins: list[Twin]) -> None: ...
    def tick(self, judge: Judge) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


Held = Callable[[list[Twin], Judge], dict[str, Any]]
