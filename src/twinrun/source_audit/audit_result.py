"""The result of `twinrun audit`, which every output format is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.errors import BadNotebook
from twinrun.findings.finding import Finding
from twinrun.findings.silence import Sifted, sift
from twinrun.masking import Masked, each_text
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import source_of
from twinrun.notebooks.places import by_cells, placed
from twinrun.protocol.facts import DatasetsAudit
from twinrun.quote import quoted
from twinrun.source_audit.audit import SourceAudit
from twinrun.source_audit.origin_findings import by_place
from twinrun.source_audit.program_files import Problem, decode, shown_path

SCHEMA = "twinrun/audit/1"
CLEAN, FINDINGS, UNDECIDED = "clean", "findings", "undecided"
_EXIT_CODES = {CLEAN: 0, FINDINGS: 1, UNDECIDED: 2}


@dataclass(frozen=True)
class AuditResult(Masked):
    """Findings of the source and of the datasets, with what was read and what could not be judged."""

    program: str
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    silenced: tuple[tuple[Finding, str], ...] = ()
    programs: Mapping[Finding, str] = field(default_factory=dict)  # the file that was started
    datasets_audited: bool = False
    reason: str | None = None  # why the audit could not judge, when it could not
    notes: tuple[str, ...] = ()  # what of the inputs could not be judged

    @property
    def verdict(self) -> str:
        if self.findings:
            return FINDINGS
        return UNDECIDED if self.reason else CLEAN

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES[self.verdict]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "reason": self.reason,
            "program": self.program,
            "findings": [finding.as_json() for finding in self.findings],
            "silenced": [
                {
                    "code": finding.code,
                    "file": finding.file,
                    "line": finding.line,
                    "cell": finding.cell,
                    "reason": reason,
                }
                for finding, reason in self.silenced
            ],
            "files": list(self.files),
            "datasets_audited": self.datasets_audited,
            "problems": [asdict(problem) for problem in self.problems],
            "notes": list(self.notes),
        }


def audit_result(program: str, source: SourceAudit, datasets: DatasetsAudit | None) -> AuditResult:
    """Put both audits together."""
    seen = datasets or DatasetsAudit()
    sifted = sift_seen(seen.findings)
    found = merged(source.findings, sifted.kept)
    shown = {place: quoted([each])[0] for place, each in found.items()}
    silenced = {_place(each): (each, reason) for each, reason in (*sifted.silenced, *source.silenced)}
    problems = placed(source.problems)
    result = AuditResult(
        program,
        tuple(shown[_place(each)] for each in sorted(found.values(), key=by_place)),
        source.files_read,
        problems,
        tuple((placed([each])[0], reason) for each, reason in silenced.values()),
        {shown[_place(each)]: program for each, program in source.programs.items()},
        datasets_audited=datasets is not None,
        reason=_reason(problems, source.files_read, seen.failures),
        notes=(*seen.failures, *(f"not known: {stage}" for stage in seen.unknown)),
    )
    for file in filter(is_notebook, source.files_read):
        result = each_text(result, by_cells(file))
    return result


Place = tuple[str, str | None, int | None]


def merged(read: Iterable[Finding], seen: Iterable[Finding]) -> dict[Place, Finding]:
    """What the audits of source and datasets found, each place once."""
    found = {_place(each): each for each in read}
    for each in seen:
        known = found.get(_place(each))
        if known is None:
            found[_place(each)] = each
        else:  # the run is certain; the source has the line as written, and the fix
            evidence = tuple(dict.fromkeys((*each.evidence, *known.evidence)))
            fix = known.fix or each.fix
            found[_place(each)] = replace(each, file=known.file, evidence=evidence, fix=fix)
    return found


def sift_seen(findings: Iterable[Finding]) -> Sifted:
    """Take out what the source silences of the findings in datasets."""
    return sift(map(_as_shown, findings), _text)


def _place(finding: Finding) -> Place:
    """One place, by however many paths its file is known."""
    return finding.code, finding.file and str(Path(finding.file).resolve()), finding.line


def _as_shown(finding: Finding) -> Finding:
    """The running program knows its files by their full paths."""
    return replace(finding, file=shown_path(Path(finding.file))) if finding.file else finding


def _text(file: str) -> str | None:
    try:
        return decode(source_of(Path(file)))
    except (OSError, ValueError, BadNotebook):
        return None


def _reason(
    problems: tuple[Problem, ...], files_read: tuple[str, ...], failures: tuple[str, ...]
) -> str | None:
    """Why nothing may be called clean: something could not be read, or not followed to its end."""
    if problems:
        others = len(problems) - 1
        return f"{problems[0]}" + (f" (and {others} more)" if others else "")
    if failures:
        return failures[0]
    return None if files_read else "there is no Python file to read"
