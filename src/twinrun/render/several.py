"""The results of several named programs in one document, and the checks inside any saved document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twinrun.baselines.outcome import BaselineResult
from twinrun.errors import BadResult, UsageError
from twinrun.render import baseline_text, text
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult
from twinrun.result import SCHEMA as ONE
from twinrun.terminal import Lines

# The schemas of several, and under which field each has the name of a program.
CHECKS, BASELINES = "twinrun/check-all/1", "twinrun/baseline-all/1"
_NAMES = {CHECKS: "name", BASELINES: "program_name"}
Several = Sequence[tuple[str, CheckResult]]


def as_document(results: Several, schema: str) -> dict[str, Any]:
    if _alone(results, schema):
        return results[0][1].as_json()
    programs = [{_NAMES[schema]: name, **result.as_json()} for name, result in results]
    verdicts = {result.verdict for _, result in results}
    verdict = DIVERGES if DIVERGES in verdicts else UNDECIDED if UNDECIDED in verdicts else REPEATS
    return {"schema": schema, "verdict": verdict, "programs": programs}


def as_lines(results: Several, schema: str, *, quiet: bool = False, verbose: bool = False) -> Lines:
    for number, (name, result) in enumerate(results):
        if not _alone(results, schema):
            yield from ([""] if number else [])
            yield f"== {name}"
        if isinstance(result, BaselineResult):
            yield from baseline_text.as_lines(result, quiet=quiet, verbose=verbose)
        else:
            yield from text.as_lines(result, quiet=quiet, verbose=verbose)


def _alone(results: Several, schema: str) -> bool:
    """Whether it is one program's own document. All baselines of a project are several, even where that is one."""
    return len(results) == 1 and (schema != BASELINES or not results[0][0])


def one_program_only(**asked: object) -> None:
    """Some outputs are about one program: asked for several, they are refused before anything is written."""
    for option, value in asked.items():
        if value:
            name = "--" + option.replace("_", "-")
            raise UsageError(f"{name} shows one program at a time", hint="name the program")


def results_in(document: dict[str, Any], where: str | None = None) -> list[tuple[str, CheckResult]]:
    """The checks of a saved document: one check, one against a baseline, or several of either."""
    field = _NAMES.get(str(document.get("schema")))
    if field is None:
        return [("", _check(document, where))]
    programs = document.get("programs")
    if not isinstance(programs, list) or not programs or not all(isinstance(each, dict) for each in programs):
        raise BadResult("this result is damaged: it holds no programs", where=where)
    return [(str(each.get(field) or ""), _check(each, where)) for each in programs]


def _check(document: dict[str, Any], where: str | None) -> CheckResult:
    """A check against a baseline has all the fields of a check."""
    if document.get("schema") == "twinrun/baseline-check/1":
        document = {**document, "schema": ONE}
    return CheckResult.from_json(document, where=where)
