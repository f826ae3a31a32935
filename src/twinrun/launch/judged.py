"""What a judge knows, as a result."""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.comparison.judge import Judge
from twinrun.protocol import Facts
from twinrun.result import REPEATS, UNDECIDED, CheckResult, Reason, Verdict


def judged(program: str, verdict: Verdict, reason: Reason | None, judge: Judge) -> CheckResult:
    """The result of a comparison, as far as the judge knows it."""
    return CheckResult.of(
        program,
        verdict,
        reason,
        contract=str(judge.contract),
        steps_compared=judge.steps,
        first_difference=judge.first if verdict != REPEATS else None,
        first_bit_difference=judge.first_bits,
        growth=tuple(judge.growth),
        also_differing=tuple(f"{d.phase}: {d.tensor}" for d in judge.differing[1:50]),
        timeline=judge.timeline,
    )


def agree_by_luck(result: CheckResult, twins: Iterable[Facts]) -> CheckResult:
    """A program that cannot repeat, whatever a comparison finds, is not said to."""
    why = next((facts.unrepeatable for facts in twins if facts.unrepeatable), None)
    if why is None:
        return result
    if result.verdict != REPEATS:
        return result.replace(notes=(*result.notes, why))
    reason = Reason("not-comparable", f"the twins agree only by chance: {why}")
    return result.replace(verdict=UNDECIDED, reason=reason.message, reason_kind=reason.kind)
