"""What is reported of suspects that no experiment settled: those that are likely, with what is missing to be certain.
The audits are the second opinion: that of the source follows values into training, which no log of events does, and that
of the datasets reads what their functions really do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from twinrun.diagnose.experiments import FOREVER
from twinrun.diagnose.search import Search
from twinrun.diagnose.suspects import LIKELY, WORTH_A_TRIAL, families
from twinrun.diagnose.wording import finding_of, fix_for
from twinrun.findings.finding import Finding
from twinrun.findings.fixes.propose import OF_THE_PROGRAM
from twinrun.protocol import Evidence, Suspect, differs, one
from twinrun.source_audit.audit_result import merged, sift_seen

Named = set[tuple[str, str, int]]  # code, file and line
_AMONG = "the twins repeat with this and the other suspects frozen; whether it is needed was not tried"
_UNTESTABLE = "no experiment can freeze it"
_STILL = "with this and all other suspects frozen the twins still differ: there is another cause"
_AUDIT = "the audit of the source follows it into training; no experiment showed it"
_DATASETS = "the audit of a dataset that the program iterates shows it; no experiment did"
_INPUT = "TW2"  # codes of the input pipeline
# What comes with another machine, another number of workers or a restart: twins have all of that in common.
_SAME_FOR_TWINS = ("TW107", "TW207", "TW302", "TW6")


def likely_findings(search: Search, evidence: Evidence, read: Sequence[Finding]) -> list[Finding]:
    """Findings from the evidence of the check and the audit of the source. None where everything is explained, or an op
    is to blame and nothing else is suspected of having a part in it."""
    if search.explained or (search.op is not None and not search.frozen):
        return []
    audited = [
        finding for finding in _audited(read, search.datasets) if not _is_refuted(search, evidence, finding)
    ]
    named = {_named(finding) for finding in audited}
    found: list[Finding] = []
    for family in families(_candidates(search)):
        if _is_likely(search, family, named):
            # Of several lines, the one that an audit names.
            first = next((suspect for suspect in family if _place(suspect) in named), family[0])
            found.append(finding_of(first, _why(search, first), confirmed=False, others=family))
    if not found and not search.findings and search.goal == FOREVER and search.unsettled:
        # The cause is among them.
        family = max(families(search.unsettled), key=lambda family: family[0].likelihood)
        found = [finding_of(family[0], _AMONG, confirmed=False, others=family)]
    if search.goal != FOREVER and search.op is None:
        found += _by_the_audit_alone(search, audited, [*search.findings, *found])
    return found


def _audited(read: Iterable[Finding], datasets: Iterable[Finding]) -> list[Finding]:
    """What the audits of source and datasets found, each place once, and why it may be to blame."""
    followed = [replace(each, evidence=(*each.evidence, _AUDIT)) for each in read]
    seen = [
        replace(
            each,
            evidence=(*each.evidence, _DATASETS),
            fix=fix_for(each.code, each.file, each.line, each.fix or ""),
        )
        for each in sift_seen(datasets).kept
    ]
    return list(merged(followed, seen).values())


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
        return _AMONG if search.goal == FOREVER else "with it frozen the difference comes later, but remains"
    return _STILL if suspect in search.tried else f"not tried: {suspect.experiment}"


def _by_the_audit_alone(
    search: Search, audited: Sequence[Finding], known: Sequence[Finding]
) -> Iterator[Finding]:
    """What the audits name, and nothing that is reported already covers."""
    places = {_named(finding)[1:] for finding in known}
    places |= {_place(suspect)[1:] for cause in search.causes for suspect in cause.family}
    # One seed of the program is enough for all lines with the code.
    codes = {finding.code for finding in known} & OF_THE_PROGRAM
    for finding in audited:
        covered = _named(finding)[1:] in places or finding.code in codes
        if not covered and not finding.code.startswith(_SAME_FOR_TWINS):
            yield finding


def _is_refuted(search: Search, evidence: Evidence, finding: Finding) -> bool:
    """Whether the twins speak against it: weights before the first step do not depend on the input pipeline, twins that
    were given the same batch do not part because of it, and a line that got the same values in both is innocent."""
    end = search.evidence
    if finding.code.startswith(_INPUT) and (end.phase == "init" or end.fed_alike):
        return True
    there = [
        pair
        for pair in (*evidence.pairs, *end.pairs)
        if one(pair).size and (one(pair).file, one(pair).line) == _named(finding)[1:]
    ]
    return bool(there) and not any(map(differs, there))


def _place(suspect: Suspect) -> tuple[str, str, int]:
    return suspect.code, suspect.file or "", suspect.line or 0


def _named(finding: Finding) -> tuple[str, str, int]:
    return finding.code, str(Path(finding.file or "").resolve()), finding.line or 0
