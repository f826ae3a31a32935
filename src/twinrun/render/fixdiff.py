"""A patch for the reported causes, made from the user's own source, for `git apply` or `patch -p1`. It holds only
fixes that change nothing but randomness and order. Nothing proves that they are enough: that is `twinrun fix`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from twinrun.findings.finding import Finding
from twinrun.findings.fixes import as_patch, places_of, read_own, together
from twinrun.result import CheckResult
from twinrun.source_audit.audit_result import AuditResult
from twinrun.source_audit.program_files import shown_path


def as_fix_diff(result: CheckResult) -> bytes:
    """The patch; empty when nothing can be fixed automatically. Where causes are confirmed, likely ones are left out."""
    confirmed = [finding for finding in result.findings if finding.confirmed]
    return _patch({result.program: confirmed or result.findings})


def audit_fix_diff(result: AuditResult) -> bytes:
    """The same for all that an audit found, which may be in several programs."""
    program = shown_path(Path(result.program))
    by_program: dict[str, list[Finding]] = {}
    for finding in result.findings:
        by_program.setdefault(result.programs.get(finding, program), []).append(finding)
    return _patch(by_program)


def _patch(by_program: Mapping[str, Sequence[Finding]]) -> bytes:
    """One patch for the findings of some programs. Where a program is no file (`-m`, a folder), the places of its
    findings decide."""
    findings = [finding for members in by_program.values() for finding in members]
    names = dict.fromkeys((*by_program, *(finding.file for finding in findings if finding.file)))
    files = {name: file for name in names if (file := read_own(name)) is not None}
    texts = {name: file.text for name, file in files.items()}
    changed: dict[str, str] = {}
    for program, members in by_program.items():
        started = program if program in files else None
        places = places_of(members, texts.get, started)
        now = {**texts, **changed}
        changed |= together(places, now, program=started, accept=lambda fix: fix.safe).texts
    return as_patch({name: (files[name].data, files[name].with_text(text)) for name, text in changed.items()})
