"""What a verb of baselines has to say: a check's result with what a baseline adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from twinrun.environment.difference import Difference
from twinrun.result import CheckResult

SCHEMA = "twinrun/baseline-check/1"


@dataclass(frozen=True)
class BaselineResult:
    """`check` is what every format can render; the rest is what only a baseline knows."""

    check: CheckResult
    name: str
    action: str  # recorded | accepted | unchanged | checked
    key: str
    store: str
    file: str | None = None
    others: tuple[str, ...] = ()  # keys that have a baseline of this name
    nearest: str | None = None
    differences: tuple[Difference, ...] = ()
    commits: tuple[str, ...] = ()
    history: tuple[dict[str, Any], ...] = ()
    commands: tuple[str, ...] = field(default=())  # what to do next

    @property
    def exit_code(self) -> int:
        return self.check.exit_code

    def as_json(self) -> dict[str, Any]:
        return {
            **self.check.as_json(),
            "schema": SCHEMA,
            "baseline": {
                "name": self.name,
                "action": self.action,
                "key": self.key,
                "store": self.store,
                "file": self.file,
                "other_keys": list(self.others),
                "nearest": self.nearest,
                "differences": [each.as_json() for each in self.differences],
                "commits": list(self.commits),
                "history": list(self.history),
                "commands": list(self.commands),
            },
        }
