"""Programs with a name, from [tool.twinrun.programs.NAME] of pyproject.toml: a verb without one takes all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from twinrun.cli.options import WHICH_PROGRAM, project_table
from twinrun.errors import UsageError
from twinrun.interrupt import Interrupted
from twinrun.masking import mask_arguments
from twinrun.settings import OPTIONS
from twinrun.terminal import inline, say

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
        return " ".join((*(("-m", self.module) if self.module else ()), *mask_arguments(self.program)))

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
    if not isinstance(arguments, list) or not all(isinstance(word, (str, int, float)) for word in arguments):
        raise UsageError(f"{where}: arguments is not a list of texts", hint='arguments = ["--epochs", "1"]')
    for key in ("program", "module"):
        if key in table and not (isinstance(table[key], str) and table[key]):
            raise UsageError(f"{where}: {key} is not a text", hint='program = "train.py"')
    script = [table["program"]] if "program" in table else []
    baseline = table.get("baseline", False)
    if not isinstance(baseline, (bool, str)):
        raise UsageError(f"{where}: baseline is neither true nor a name", hint="baseline = true")
    try:
        settings = {each: OPTIONS[each].parse(each, table[each]) for each in SETTINGS if each in table}
    except UsageError as problem:
        raise UsageError(f"{where}: {problem.message}", hint=problem.hint) from None
    return Named(
        name,
        tuple(map(str, (*script, *arguments))),
        table.get("module"),
        settings,
        name if baseline is True else baseline or None,
    )


def worst(codes: list[int]) -> int:
    """The exit code of several: diverging outweighs not being able to judge, and both outweigh repeating."""
    return 1 if 1 in codes else max(codes, default=0)


def all_wanted(given: Mapping[str, Any]) -> bool:
    return not given["program"] and given["module"] is None


def one_or_all(given: Mapping[str, Any], one: Callable[..., Any]) -> list[tuple[str, Any]]:
    """(name, what `one` gave) for the program that was asked for, or for every configured one."""
    if not all_wanted(given):
        return _in_turn([("", _target(given["program"], given["module"]), lambda: one(**given))])
    programs = configured()
    if not programs:
        raise UsageError(
            "which program?",
            hint=f"{WHICH_PROGRAM}, or name programs in [tool.twinrun.programs.NAME] of pyproject.toml",
        )
    return for_each(programs, lambda program: one(**program.given(given)))


def for_each(programs: list[Named], run: Callable[[Named], Any]) -> list[tuple[str, Any]]:
    """(name, what `run` gave) for every program, each announced as it begins."""

    def announced(each: Named) -> Any:
        say(inline(f"{each.name}: {each.words}"))
        return run(each)

    return _in_turn([(e.name, _target(e.program, e.module), partial(announced, e)) for e in programs])


def _target(program: tuple[str, ...], module: str | None) -> str:
    return " ".join(program[:1]) if module is None else f"-m {module}"


def _in_turn(programs: Sequence[tuple[str, str, Callable[[], Any]]]) -> list[tuple[str, Any]]:
    """(name, what the function gave) for every name, target and function. Interrupted, it leaves what it has."""
    from twinrun.result import UNDECIDED, CheckResult

    found: list[tuple[str, Any]] = []
    try:
        for name, _, run in programs:
            found.append((name, run()))
    except Interrupted as stop:
        for name, target, _ in programs[len(found) :][:1]:  # the one that was under way
            reason = stop.reason(0)  # where it had no twins yet
            left = stop.results or (("", CheckResult(target, UNDECIDED, reason.message, reason.kind)),)
            found += [(name, result) for _, result in left]
        raise stop.leaving(*found) from None
    return found


def left_by(run: Callable[[], list[tuple[str, Any]]]) -> tuple[list[tuple[str, Any]], int]:
    """What `run` gave and 0; or what it left when it was interrupted, and the exit code of that."""
    try:
        return run(), 0
    except Interrupted as stop:
        if not stop.results:
            raise
        return list(stop.results), stop.exit_code
