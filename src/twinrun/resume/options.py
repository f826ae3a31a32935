"""What `twinrun resume` is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGKILL, Signals

from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.protocol import Intervened, Interventions

WORDS = ("checkpoints", "save", "random")
At = tuple[int, ...] | str  # steps, or one of the words


@dataclass(frozen=True)
class ResumeOptions(Intervened):
    program: Program
    at: At = "checkpoints"
    signal: Signals = SIGKILL
    most: int = 5
    interventions: Interventions = ()
    timeout: float | None = None  # of each run
    folder: str | None = None
    keep: bool = False

    @property
    def sent(self) -> Signals:
        """What the program is stopped by: in a save only the signal that no handler delays."""
        return SIGKILL if self.at == "save" else self.signal


def parse_at(text: str) -> At:
    """`20`, `5,20`, or one of the words."""
    if text in WORDS:
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) < 2**63 for part in parts):
        hint = f"write a step (--at 20), several (--at 5,20), or {', '.join(WORDS)}"
        raise UsageError(f"invalid value for --at: {text!r}", hint=hint)
    return tuple(sorted({int(part) for part in parts}))
