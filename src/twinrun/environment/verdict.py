"""What the environments mean for a comparison: where their keys differ, differing bits are incomparable, not
a divergence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from twinrun.environment.difference import BITS, METRICS, Difference, differences, readable
from twinrun.environment.environment import Environment
from twinrun.errors import TwinrunError
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, EnvironmentDifference

_MOST = 100


def with_environments(result: CheckResult, a: dict[str, Any], b: dict[str, Any]) -> CheckResult:
    """The result of comparing two recordings, given the environments in their manifests.

    Equal bits count as equal wherever they were computed. Differing bits are to be expected from different
    environments: the differences that can change bits come first, and no other cause is looked for.
    """
    try:
        found = differences(Environment.from_json(a), Environment.from_json(b))
    except TwinrunError:  # recorded without an environment
        return result
    result = result.replace(environment_differences=as_shown(found))
    serious = [each for each in found if each.group == BITS]
    if result.verdict == REPEATS:
        notes = [f"equal although the environments differ: {each.sentence}" for each in serious]
        return result.replace(notes=(*result.notes, *notes))
    if result.verdict != DIVERGES:
        return result
    suspects = serious or [each for each in found if each.group == METRICS]
    findings = (*(each.as_finding() for each in suspects), *result.findings)
    if serious and result.contract == "bitwise":
        reason = f"incomparable bitwise: {serious[0].sentence}"
        return result.replace(
            verdict=UNDECIDED, reason=reason, reason_kind="not-comparable", findings=findings
        )
    return result.replace(findings=findings)


def environment_differences(twins: Sequence[dict[str, Any]]) -> tuple[EnvironmentDifference, ...] | None:
    """Between the first and the last of these environments; None where they are not known."""
    try:
        known = [Environment.from_json(each) for each in twins if each]
    except TwinrunError:
        return None
    return as_shown(differences(known[0], known[-1])) if len(known) > 1 else None


def as_shown(found: Iterable[Difference]) -> tuple[EnvironmentDifference, ...]:
    return tuple(
        EnvironmentDifference(each.field, each.group, each.sentence, readable(each.a), readable(each.b))
        for each in list(found)[:_MOST]
    )
