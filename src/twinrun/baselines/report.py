"""The result of a verb of baselines, and its text for a reader: a check's result with what a baseline adds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from twinrun.environment.difference import Difference
from twinrun.render.text import as_text, printable
from twinrun.result import REPEATS, CheckResult

_DONE = {
    "recorded": "recorded",
    "accepted": "accepted",
    "unchanged": "already recorded, with the same bits",
}


@dataclass(frozen=True)
class BaselineResult:
    """`check` is what every format can render; the rest is what only a baseline knows."""

    check: CheckResult
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

    @property
    def exit_code(self) -> int:
        return self.check.exit_code

    def as_json(self) -> dict[str, Any]:
        added = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "check"}
        added["differences"] = [each.as_json() for each in self.differences]
        return {**self.check.as_json(), "schema": "twinrun/baseline-check/1", "baseline": added}


# A program that failed or does not repeat gives a check's result: nothing was recorded or compared.
Outcome = BaselineResult | CheckResult


def outcome_as_text(outcome: Outcome, *, quiet: bool = False, colour: bool = False) -> str:
    if isinstance(outcome, CheckResult):
        return as_text(outcome, quiet=quiet, colour=colour)
    if outcome.action != "checked":
        where = f"{outcome.store}/{outcome.file}"
        return printable(f"{_DONE[outcome.action]}: {outcome.name} for {outcome.key} in {where}") + "\n"
    check = outcome.check
    lines = as_text(check, quiet=quiet, colour=colour).rstrip("\n").splitlines()
    if check.verdict == REPEATS:
        verdict = lines[0].partition(":")[0]  # with its colour
        within = "bit for bit" if check.contract == "bitwise" else f"within {check.contract}"
        lines[0] = f"{verdict}: {check.steps_compared} steps, equal to the baseline {within}"
    if not quiet:
        lines += (printable(line) for line in _added(outcome))
    return "\n".join(lines) + "\n"


def several_as_text(outcomes: list[tuple[str, Outcome]], output_format: str, *, quiet: bool) -> str:
    """The outcomes of several named programs, as text or JSON."""
    if output_format == "json":
        programs = [{"program_name": name, **each.as_json()} for name, each in outcomes]
        return json_text({"schema": "twinrun/baseline-all/1", "programs": programs})
    return "\n".join(f"== {name}\n{outcome_as_text(each, quiet=quiet)}" for name, each in outcomes)


def json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, default=str) + "\n"


def _added(result: BaselineResult) -> Iterator[str]:
    yield f"  baseline: {result.name} for {result.key}" + (f" ({result.file})" if result.file else "")
    if result.other_keys:
        yield f"  baselines of {result.name}: {', '.join(result.other_keys)}"
    if result.nearest is not None:
        yield f"  different from {result.nearest}:"
        yield from (f"    {each.code} {each.sentence}" for each in result.differences)
    if result.commits:
        yield f"  commits since the baseline ({len(result.commits)}):"
        yield from (f"    {line}" for line in result.commits)
    if result.history and result.check.exit_code:
        last = result.history[-1]
        yield f"  last accepted {last.get('when')}: {last.get('reason')}"
    yield from (f"  next: {command}" for command in result.commands)
