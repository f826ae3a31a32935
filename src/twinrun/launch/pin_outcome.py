"""What pinning adds to the result of a run: what could not be pinned, what the program changed, and what was noticed
inside."""

from __future__ import annotations

from collections.abc import Iterable

from twinrun.findings.finding import Finding
from twinrun.protocol.facts import Facts
from twinrun.protocol.pin import PinRequest
from twinrun.twin.readback import changes, shortfalls

_FATAL = ("TW104", "TW406")  # end the program by themselves: no comparison is needed to know them


def noticed(twins: Iterable[Facts]) -> tuple[Finding, ...]:
    """What the twins noticed, each finding once."""
    return tuple(dict.fromkeys(finding for facts in twins for finding in facts.findings))


def refusals(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.code in _FATAL)


def remarks(request: PinRequest | None, facts: Facts) -> list[str]:
    """What was asked for and is not there, and what the program set itself."""
    if request is None:
        return []
    return [
        *(f"not pinned: {line}" for line in shortfalls(facts.controls)),
        *(f"set by the program: {line}" for line in changes(facts.controls)),
    ]


def strictly_missing(request: PinRequest | None, facts: Facts) -> str | None:
    """Why a strict request cannot be judged; None where it holds or was not strict."""
    if request is None or not request.strict:
        return None
    if not facts.controls:
        return "strict pinning was requested, and the controls could not be read back"
    missing = shortfalls(facts.controls)
    return (
        f"strict pinning was requested, and not everything is pinned: {'; '.join(missing)}"
        if missing
        else None
    )
