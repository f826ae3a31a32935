"""What pinning adds to a run: what could not be pinned, what the program changed, what was noticed inside, and with what
to start again where the program cannot run with a control."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from twinrun.findings.finding import Finding
from twinrun.protocol import Facts, Intervened, Interventions, Pin, PinRequest, relative
from twinrun.protocol.intervention import without
from twinrun.protocol.registry import droppable
from twinrun.twin.readback import changes, shortfalls

_FATAL = ("TW104", "TW406")  # end the program by themselves: no comparison is needed to know them


def without_refused(
    options: Intervened, findings: Iterable[Finding]
) -> tuple[Interventions, tuple[str, ...]] | None:
    """What to start again with, and why, where the program cannot run with a control that the user allows to be left
    off; else None."""
    request, notes = options.pin, []
    why = {finding.code: finding.message for finding in findings}
    for control in droppable(request) if request is not None else ():
        if request is not None and control.refusal in why:
            request = request.without(control.name)
            notes.append(f"continued without {control.name}: {why[control.refusal]}")
    if request is None or not notes:
        return None
    return (*without(Pin, options.interventions), Pin(request)), tuple(notes)


def noticed(twins: Iterable[Facts]) -> tuple[Finding, ...]:
    """What the twins noticed, each finding once. They may have changed their working directory: the place is spelled here."""
    found = dict.fromkeys(finding for facts in twins for finding in facts.findings)
    return tuple(replace(each, file=relative(each.file)) if each.file else each for each in found)


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
    if missing := shortfalls(facts.controls):
        return f"strict pinning was requested, and not everything is pinned: {'; '.join(missing)}"
    return None
