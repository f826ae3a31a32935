"""The results of several named programs in one document: each format puts together what it makes of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree

from twinrun.errors import UsageError
from twinrun.render.summary import annotation
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult

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
