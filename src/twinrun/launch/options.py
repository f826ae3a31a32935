"""What a check is asked to do, and what is shown while it does it."""

from __future__ import annotations

from dataclasses import dataclass

from twinrun.comparison.contract import BITWISE, Contract
from twinrun.comparison.judge import Judge
from twinrun.launch.program import Program
from twinrun.launch.twin_process import Twin
from twinrun.protocol.intervention import Interventions, Stress, Vary, of_kind, pin_request
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.spec import Tracing


@dataclass(frozen=True)
class CheckOptions:
    program: Program
    runs: int = 2
    steps: int | None = None
    contract: Contract = BITWISE
    interventions: Interventions = ()
    sequential: bool = False
    timeout: float | None = None
    detail: bool = False
    events: bool = True
    folder: str | None = None
    tracing: Tracing = ""
    experiment: bool = False  # one question of a diagnosis: no second look with another clock

    @property
    def pin(self) -> PinRequest | None:
        return pin_request(self.interventions)

    @property
    def varied(self) -> tuple[str, ...]:
        return tuple(vary.name for vary in of_kind(Vary, self.interventions))

    @property
    def stressed(self) -> bool:
        return bool(of_kind(Stress, self.interventions))


class Screen:
    """What is shown while a check runs. This one shows nothing."""

    def twins(self, twins: list[Twin]) -> None: ...
    def tick(self, judge: Judge) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...
