"""What a judge knows, as a result."""

from __future__ import annotations

from twinrun.comparison.judge import Judge
from twinrun.result import REPEATS, CheckResult, Reason, Verdict


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
    )
