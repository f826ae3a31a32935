"""The results of several named programs in one document, and the checks inside any saved document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twinrun.errors import BadResult, UsageError
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult
from twinrun.result import SCHEMA as ONE

SCHEMA = "twinrun/check-all/1"


def as_document(results: Sequence[tuple[str, CheckResult]]) -> dict[str, Any]:
    if len(results) == 1:
        return results[0][1].as_json()
    programs = [{"name": name, **result.as_json()} for name, result in results]
    verdicts = {result.verdict for _, result in results}
    verdict = DIVERGES if DIVERGES in verdicts else UNDECIDED if UNDECIDED in verdicts else REPEATS
    return {"schema": SCHEMA, "verdict": verdict, "programs": programs}


def one_program_only(**asked: object) -> None:
    """Some outputs are about one program: asked for several, they are refused before anything is written."""
    for option, value in asked.items():
        if value:
            name = "--" + option.replace("_", "-")
            raise UsageError(f"{name} shows one program at a time", hint="name the program")


def results_in(document: dict[str, Any], where: str | None = None) -> list[tuple[str, CheckResult]]:
    """The checks of a saved document: one check, one against a baseline, or several of either."""
    if document.get("schema") not in (SCHEMA, "twinrun/baseline-all/1"):
        return [("", _check(document, where))]
    programs = document.get("programs")
    if not isinstance(programs, list) or not programs or not all(isinstance(each, dict) for each in programs):
        raise BadResult("this result is damaged: it holds no programs", where=where)
    return [
        (str(each.get("name") or each.get("program_name") or ""), _check(each, where)) for each in programs
    ]


def _check(document: dict[str, Any], where: str | None) -> CheckResult:
    """A check against a baseline has all the fields of a check."""
    if document.get("schema") == "twinrun/baseline-check/1":
        document = {**document, "schema": ONE}
    return CheckResult.from_json(document, where=where)
