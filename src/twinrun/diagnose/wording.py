"""Findings in words: what the cause is, what confirms it, and the user's own line rewritten."""

from __future__ import annotations

import contextlib
from pathlib import Path

from twinrun.findings.catalogue import finding, lookup
from twinrun.findings.finding import Finding
from twinrun.protocol import Suspect, relative


def finding_of(suspect: Suspect, proof: str, *, confirmed: bool) -> Finding:
    """`proof` is what an experiment showed, or why none did."""
    return finding(
        suspect.code,
        suspect.message,
        file=relative(suspect.file) if suspect.file else None,
        line=suspect.line,
        confirmed=confirmed,
        evidence=[
            *(f"note: {note}" for note in suspect.notes),
            f"confirmed by: {proof}" if confirmed else proof,
        ],
        fix=suspect.advice or fix_for(suspect.code, suspect.file, suspect.line, suspect.in_words),
    )


def fix_for(code: str, file: str | None, line: int | None, in_words: str = "") -> str:
    """The user's line and the rewritten line where that can be made, else what to do in words: the catalogue's advice,
    where the source knows nothing better."""
    if file is not None and line is not None:
        with contextlib.suppress(ImportError, OSError, ValueError, SyntaxError):
            from twinrun.findings.fixes import propose

            source = Path(file).read_text()
            proposed = propose(code, file, line, source)
            if proposed is not None:
                note = f"{proposed.note}\n" if proposed.note else ""
                return f"{note}{proposed.changes()}"
    return in_words or lookup(code).advice
