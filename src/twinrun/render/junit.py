"""JUnit XML, for CI systems that show test results: one check is one suite with one test case. Diverging is a failure,
not being able to judge is an error."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from twinrun.render.text import as_text, printable
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult


def as_junit(results: Sequence[tuple[str, CheckResult]]) -> str:
    """A suite for each program, with the sums at the top."""
    suites = Element("testsuites", {"name": "twinrun", **_counts([result for _, result in results])})
    for name, result in results:
        _suite(suites, name or "twinrun check", result)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _suite(suites: Element, name: str, result: CheckResult) -> None:
    counts = _counts([result])
    suite = SubElement(suites, "testsuite", {"name": printable(name), "skipped": "0", **counts})
    properties = SubElement(suite, "properties")
    for key, value in _facts(result).items():
        SubElement(properties, "property", {"name": key, "value": printable(value)})
    case = SubElement(
        suite,
        "testcase",
        {
            "classname": printable(result.program),
            "name": printable(f"repeats ({result.contract})"),
            "time": counts["time"],
        },
    )
    text = printable(as_text(result, colour=False))
    if result.verdict == REPEATS:
        SubElement(case, "system-out").text = text
        return
    kind = result.findings[0].code if result.findings else result.reason_kind or result.verdict
    problem = {"message": text.splitlines()[0], "type": printable(kind)}
    SubElement(case, "failure" if result.verdict == DIVERGES else "error", problem).text = text


def _counts(results: Sequence[CheckResult]) -> dict[str, str]:
    verdicts = [result.verdict for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(verdicts.count(DIVERGES)),
        "errors": str(verdicts.count(UNDECIDED)),
        "time": f"{sum(result.timing.get('seconds', 0.0) for result in results):.3f}",
    }


def _facts(result: CheckResult) -> dict[str, str]:
    facts = {
        "verdict": result.verdict,
        "contract": result.contract,
        "runs": str(result.runs),
        "steps_compared": str(result.steps_compared),
        "varied": ", ".join(result.varied),
        "environment": str(result.environment.get("name", "")),
    }
    if result.reason_kind is not None:
        facts["reason_kind"] = result.reason_kind
    first = result.first_difference
    if first is not None:
        facts["first_difference"] = f"step {first.step}, {first.phase}: {first.tensor}"
    return facts
