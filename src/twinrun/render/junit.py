"""JUnit XML, for CI systems that show test results: one check is one test case. Diverging is a failure, not
being able to judge is an error."""

from __future__ import annotations

from xml.etree import ElementTree

from twinrun.render.text import as_text, printable
from twinrun.result import DIVERGES, UNDECIDED, CheckResult


def as_junit(result: CheckResult) -> str:
    failed, undecided = result.verdict == DIVERGES, result.verdict == UNDECIDED
    seconds = f"{float(result.timing.get('seconds', 0.0)):.3f}"
    counts = {"tests": "1", "failures": str(int(failed)), "errors": str(int(undecided)), "time": seconds}
    suites = ElementTree.Element("testsuites", {"name": "twinrun", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "twinrun check", "skipped": "0", **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _facts(result).items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _safe(value)})
    case = ElementTree.SubElement(
        suite, "testcase",
        {"classname": _safe(result.program), "name": _safe(f"repeats ({result.contract})"), "time": seconds},
    )  # fmt: skip
    text = as_text(result, colour=False)
    if failed or undecided:
        kind = result.findings[0].code if result.findings else result.verdict
        problem = ElementTree.SubElement(
            case,
            "failure" if failed else "error",
            {"message": _safe(text.splitlines()[0]), "type": _safe(kind)},
        )
        problem.text = _safe(text)
    else:
        ElementTree.SubElement(case, "system-out").text = _safe(text)
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def _facts(result: CheckResult) -> dict[str, str]:
    facts = {
        "verdict": result.verdict,
        "contract": result.contract,
        "runs": str(result.runs),
        "steps_compared": str(result.steps_compared),
        "varied": ", ".join(result.varied),
        "environment": str(result.environment.get("name", "")),
    }
    first = result.first_difference
    if first is not None:
        facts["first_difference"] = f"step {first.step}, {first.phase}: {first.tensor}"
    return facts


def _safe(text: str) -> str:
    """XML has no way at all to hold most control characters."""
    return printable(text)
