"""The results of several named programs in one document: each format puts together what it makes of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from twinrun.errors import BadResult, UsageError
from twinrun.render.summary import annotation
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult
from twinrun.result import SCHEMA as ONE

SCHEMA = "twinrun/check-all/1"
Several = Sequence[tuple[str, CheckResult]]


def as_one(results: Several, output_format: str, *, quiet: bool, colour: bool) -> str:
    if output_format == "json":
        return as_json(results)
    if output_format == "junit":
        return as_junit(results)
    if output_format in ("sarif", "github"):
        from twinrun.render import findings_text

        findings = [finding for _, result in results for finding in result.findings]
        said = (
            "".join(annotation(name, result) for name, result in results) if output_format == "github" else ""
        )
        return said + findings_text(findings, output_format)
    if output_format == "text":
        from twinrun.render.text import as_text

        return "\n".join(
            f"== {name}\n{as_text(result, quiet=quiet, colour=colour)}" for name, result in results
        )
    raise UsageError(f"{output_format} shows one program at a time", hint="name the program")


def one_program_only(**asked: object) -> None:
    """Some outputs are about one program: asked for several, they are refused before anything is written."""
    for option, value in asked.items():
        if value:
            name = "--" + option.replace("_", "-")
            raise UsageError(f"{name} shows one program at a time", hint="name the program")


def verdict_of(results: Several) -> str:
    verdicts = {result.verdict for _, result in results}
    return DIVERGES if DIVERGES in verdicts else UNDECIDED if verdicts != {REPEATS} else REPEATS


def as_json(results: Several) -> str:
    programs = [{"name": name, **result.as_json()} for name, result in results]
    document = {"schema": SCHEMA, "verdict": verdict_of(results), "programs": programs}
    return json.dumps(document, indent=1, default=str) + "\n"


def as_junit(results: Several) -> str:
    """One suite for each program, with the sums at the top."""
    from twinrun.render.junit import as_junit as one

    top = ElementTree.Element("testsuites", {"name": "twinrun"})
    for name, result in results:
        for suite in ElementTree.fromstring(one(result)).iter("testsuite"):
            suite.set("name", name)
            top.append(suite)
    for count in ("tests", "failures", "errors"):
        top.set(count, str(sum(int(suite.get(count, "0")) for suite in top)))
    top.set("time", f"{sum(float(suite.get('time', '0')) for suite in top):.3f}")
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def results_in(document: dict[str, Any], where: str | None = None) -> list[tuple[str, CheckResult]]:
    """The checks of a saved document: one check, one against a baseline, or several of either."""
    if document.get("schema") in (SCHEMA, "twinrun/baseline-all/1"):
        programs = document.get("programs")
        if (
            not isinstance(programs, list)
            or not all(isinstance(each, dict) for each in programs)
            or not programs
        ):
            raise BadResult("this result is damaged: it holds no programs", where=where)
        names = [str(each.get("name") or each.get("program_name") or "") for each in programs]
        return [(name, _check(each, where)) for name, each in zip(names, programs, strict=True)]
    return [("", _check(document, where))]


def _check(document: dict[str, Any], where: str | None) -> CheckResult:
    """A check against a baseline has all the fields of a check."""
    if document.get("schema") == "twinrun/baseline-check/1":
        document = {**document, "schema": ONE}
    return CheckResult.from_json(document, where=where)
