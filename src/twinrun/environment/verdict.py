"""What environments make of a comparison: where keys differ, differing bits are incomparable, not broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twinrun.environment.difference import BITS, METRICS, Difference, differences
from twinrun.environment.environment import Environment
from twinrun.errors import TwinrunError
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult


def with_environments(result: CheckResult, a: dict[str, Any], b: dict[str, Any]) -> CheckResult:
    """The result of comparing two recordings, given the environments in their manifests.

    Equal bits are equal bits, wherever they were computed. Bits that differ are what other environments are
    expected to give: the differences that can change bits come first, and no other cause is looked for.
    """
    try:
        found = differences(Environment.from_json(a), Environment.from_json(b))
    except TwinrunError:  # recorded without an environment: nothing to say about it
        return result
    serious = [each for each in found if each.group == BITS]
    if result.verdict == REPEATS:
        return replace(result, notes=(*result.notes, *_said(serious)))
    if result.verdict != DIVERGES:
        return result
    suspects = serious or [each for each in found if each.group == METRICS]
    findings = (*(each.as_finding() for each in suspects), *result.findings)
    if serious and result.contract == "bitwise":
        reason = f"incomparable bitwise: {serious[0].sentence}"
        return replace(result, verdict=UNDECIDED, reason=reason, findings=findings)
    return replace(result, findings=findings)


def _said(serious: list[Difference]) -> list[str]:
    return [f"equal although the environments differ: {each.sentence}" for each in serious]
