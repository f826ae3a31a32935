"""What is reported of suspects that no experiment settled: those that are likely, with what is missing to be certain.
The audit of the source is the second opinion: it follows values into training, which no log of events does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from twinrun.diagnose.experiments import FOREVER
from twinrun.diagnose.search import Search
from twinrun.diagnose.suspects import LIKELY, WORTH_A_TRIAL, families
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.protocol import Evidence, Suspect, differs, one

Named = set[tuple[str, str, int]]  # code, file and line
_AMONG = "the twins repeat with this and the other suspects frozen; whether it is needed was not tried"
_UNTESTABLE = "no experiment can freeze it"
_STILL = "with this and all other suspects frozen the twins still differ: something else is at work as well"
_AUDIT = "the audit of the source follows it into training; no experiment showed it"
_INPUT = "TW2"  # codes of the input pipeline, which weights before the first step do not depend on


def likely_findings(search: Search, evidence: Evidence, audited: Sequence[Finding]) -> list[Finding]:
    """None where everything is explained, or an op is to blame and nothing else is suspected of having a part in it."""
    if search.explained or (search.op is not None and not search.frozen):
        return []
    named = {_named(finding) for finding in audited}
    found: list[Finding] = []
    for family in families(_candidates(search)):
        if _is_likely(search, family, named):
            # Of several lines, the one that the audit follows into training.
            first = next((suspect for suspect in family if _place(suspect) in named), family[0])
            found.append(finding_of(first, _why(search, first), confirmed=False, others=family))
    if not found and not search.findings and search.goal == FOREVER and search.unsettled:
        # The cause is among them.
        family = max(families(search.unsettled), key=lambda family: family[0].likelihood)
        found = [finding_of(family[0], _AMONG, confirmed=False, others=family)]
    if search.goal != FOREVER and search.op is None:
        found += _by_the_audit_alone(search, evidence, audited, [*search.findings, *found])
    return found


def _candidates(search: Search) -> Iterator[Suspect]:
    """Suspects that are neither known to be causes nor known not to be."""
    unsettled = {suspect.key for suspect in search.unsettled}
    known = {suspect.key for cause in search.causes for suspect in cause.family}
    known |= {suspect.key for suspect in _cleared(search)}
    for suspect in search.suspected:
        open_question = suspect.key in unsettled or search.goal != FOREVER
        if open_question and suspect.key not in known and not suspect.last_resort:
            yield suspect


def _cleared(search: Search) -> list[Suspect]:
    """Suspects without which the twins repeat as well. Where they differ all the same, something else may hide them."""
    return search.dropped if search.goal == FOREVER else []


def _is_likely(search: Search, family: Sequence[Suspect], named: Named) -> bool:
    first = family[0]
    if any(_place(suspect) in named for suspect in family):
        return True
    if not first.testable:
        return first.rank >= WORTH_A_TRIAL
    if first in search.frozen:
        return first.likelihood >= LIKELY
    return first.rank >= LIKELY and (first not in search.tried or search.lab.spent)


def _why(search: Search, suspect: Suspect) -> str:
    if not suspect.testable:
        return _UNTESTABLE
    if suspect in search.frozen:
        return (
            _AMONG
            if search.goal == FOREVER
            else "with it frozen the difference comes later, and does not vanish"
        )
    return _STILL if suspect in search.tried else f"not tried: {suspect.experiment}"


def _by_the_audit_alone(
    search: Search, evidence: Evidence, audited: Sequence[Finding], known: Sequence[Finding]
) -> Iterator[Finding]:
    """What the audit names, and agrees with where the twins part; not what the twins or an experiment speak against."""
    codes = {finding.code for finding in known} | {suspect.code for suspect in _cleared(search)}
    equal = {
        (event.file, event.line) for pair in evidence.pairs if (event := one(pair)).size and not differs(pair)
    }
    for finding in audited:
        place = _named(finding)[1:]
        too_early = evidence.phase == "init" and finding.code.startswith(_INPUT)
        if finding.code not in codes and place not in equal and not too_early:
            yield replace(finding, evidence=(*finding.evidence, _AUDIT))


def _place(suspect: Suspect) -> tuple[str, str, int]:
    return suspect.code, suspect.file or "", suspect.line or 0


def _named(finding: Finding) -> tuple[str, str, int]:
    return finding.code, str(Path(finding.file or "").resolve()), finding.line or 0
