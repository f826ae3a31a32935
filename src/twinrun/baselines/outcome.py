"""The result of a verb of baselines: a check's result, which every format can render, and what only a baseline knows."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from twinrun.environment.difference import Difference
from twinrun.result import CheckResult


class BaselineDetails(Struct, frozen=True):
    """A baseline, what was done with it, and what has changed since it was recorded."""

    name: str
    action: str  # recorded | accepted | unchanged | checked
    key: str
    store: str
    file: str | None = None
    other_keys: tuple[str, ...] = ()  # that have a baseline of this name
    nearest: str | None = None
    differences: tuple[Difference, ...] = ()
    commits: tuple[str, ...] = ()
    history: tuple[dict[str, Any], ...] = ()
    commands: tuple[str, ...] = ()  # what to do next


class BaselineResult(
    CheckResult, frozen=True, kw_only=True, tag_field="schema", tag="twinrun/baseline-check/1"
):
    """The fields of a `CheckResult`, and one more."""

    baseline: BaselineDetails
