"""Programs with a name, from [tool.twinrun.programs.NAME] of pyproject.toml: a verb without one takes all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from twinrun.cli.options import WHICH_PROGRAM, project_table
from twinrun.errors import UsageError
from twinrun.settings import OPTIONS

# What a program's table may set, besides what to run.
SETTINGS = ("runs", "steps", "contract", "pin", "vary", "timeout", "sequential", "detail")
_WHAT = ("program", "module", "arguments", "baseline")


@dataclass(frozen=True)
class Named:
    """One configured program. `baseline` is the name of its baseline, where it has one."""

    name: str
    program: tuple[str, ...]
    module: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    baseline: str | None = None

    @property
    def words(self) -> str:
        return " ".join((*(("-m", self.module) if self.module else ()), *self.program))

    def given(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A verb's parameters with this program's own in place of those that it sets."""
        known = {name: value for name, value in self.settings.items() if name in given}
        return {**given, **known, "program": self.program, "module": self.module}


def configured() -> list[Named]:
    """Every program of the nearest pyproject.toml, in the order of the file."""
    tables = project_table().get("programs", {})
    if not isinstance(tables, dict):
        raise UsageError("[tool.twinrun.programs] is not a table", hint="write [tool.twinrun.programs.NAME]")
    return [_named(name, table) for name, table in tables.items()]


def _named(name: str, table: Any) -> Named:
    where = f"[tool.twinrun.programs.{name}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table")
    unknown = sorted(set(table) - set(SETTINGS) - set(_WHAT))
    if unknown:
        allowed = ", ".join((*_WHAT, *SETTINGS))
        raise UsageError(f"unknown setting in {where}: {', '.join(unknown)}", hint=f"it takes {allowed}")
    if ("program" in table) == ("module" in table):
        raise UsageError(f"{where} must have either program or module", hint='program = "train.py"')
    arguments = table.get("arguments", [])
    if not isinstance(arguments, list):
        raise UsageError(f"{where}: arguments is not a list", hint='arguments = ["--epochs", "1"]')
    script = [table["program"]] if "program" in table else []
    baseline = table.get("baseline", False)
    try:
        settings = {each: OPTIONS[each].parse(each, table[each]) for each in SETTINGS if each in table}
    except UsageError as problem:
        raise UsageError(f"{where}: {problem.message}", hint=problem.hint) from None
    return Named(
        name,
        tuple(map(str, (*script, *arguments))),
        str(table["module"]) if "module" in table else None,
        settings,
        name if baseline is True else str(baseline) if baseline else None,
    )


def worst(codes: list[int]) -> int:
    """The exit code of several: diverging outweighs not being able to judge, and both outweigh repeating."""
    return 1 if 1 in codes else max(codes, default=0)


def all_wanted(given: Mapping[str, Any]) -> bool:
    return not given["program"] and given["module"] is None


def one_or_all(given: Mapping[str, Any], one: Callable[..., Any]) -> list[tuple[str, Any]]:
    """(name, what `one` gave) for the program that was asked for, or for every configured one."""
    if not all_wanted(given):
        return [("", one(**given))]
    programs = configured()
    if not programs:
        raise UsageError(
            "which program?",
            hint=f"{WHICH_PROGRAM}, or name programs in [tool.twinrun.programs.NAME] of pyproject.toml",
        )
    return for_each(programs, lambda program: one(**program.given(given)))


def for_each(programs: list[Named], run: Callable[[Named], Any]) -> list[tuple[str, Any]]:
    """(name, what `run` gave) for every program, each announced as it begins."""
    found = []
    for each in programs:
        click.echo(f"{each.name}: {each.words}", err=True)
        found.append((each.name, run(each)))
    return found
