"""Findings in words: what the cause is, what confirms it, and the user's own line rewritten."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from twinrun.counted import counted
from twinrun.errors import BadNotebook
from twinrun.findings.catalogue import finding, lookup
from twinrun.findings.finding import Finding
from twinrun.notebooks.notebook import source_of
from twinrun.protocol import Suspect, relative

_SHOWN = 4  # other places, each with a note of its own


def finding_of(suspect: Suspect, proof: str, *, confirmed: bool, others: Sequence[Suspect] = ()) -> Finding:
    """`proof` is what experiments showed, or why none did; `others` are suspects that the same fix covers."""
    elsewhere = {f"{relative(each.file)}:{each.line}": each for each in others if each.file}
    elsewhere.pop(f"{relative(suspect.file)}:{suspect.line}" if suspect.file else "", None)
    count = len(elsewhere)
    also = f" (and at {counted(count, 'more place')})" if count else ""
    notes = dict.fromkeys((*suspect.notes, *(note for each in elsewhere.values() for note in each.notes[:1])))
    if count > _SHOWN:
        notes = dict.fromkeys((*suspect.notes, f"the same goes for {', '.join(elsewhere)}"))
    return finding(
        suspect.code,
        f"{suspect.message}{also}",
        file=relative(suspect.file) if suspect.file else None,
        line=suspect.line,
        confirmed=confirmed,
        evidence=[
            *(f"note: {note}" for note in notes),
            f"confirmed by: {proof}" if confirmed else proof,
        ],
        fix=suspect.advice or fix_for(suspect.code, suspect.file, suspect.line, suspect.in_words),
    )


@dataclass(frozen=True)
class Seen:
    """In how many runs something was seen."""

    count: int
    runs: int

    def __str__(self) -> str:
        return f" ({self.count} of {self.runs} runs)" if self.runs > 1 else ""


def proof(cause: Suspect, held: Seen, differs: Seen, steps: int | None, among_others: bool) -> str:
    """What the runs with a cause frozen showed, and those without. `steps`: None where they still differ, later."""
    others = ", and the other causes too," if among_others else ""
    outcome = "the difference comes later, but remains"
    if steps is not None:
        length = f"for {counted(steps, 'step')}" if steps else "to the end"
        outcome = f"the twins repeat {length}"
    without = f"; without it they differ{differs}" if among_others or differs.runs > 1 else ""
    return f"{cause.experiment}{others} {outcome}{held}{without}"


def fix_for(code: str, file: str | None, line: int | None, in_words: str = "") -> str:
    """The user's line and the rewritten line where that can be made, else what to do in words: the catalogue's advice,
    where the source knows nothing better."""
    if file is not None and line is not None:
        with contextlib.suppress(ImportError, OSError, ValueError, SyntaxError, BadNotebook):
            from twinrun.findings.fixes import propose

            proposed = propose(code, file, line, source_of(Path(file)).decode())
            if proposed is not None:
                return proposed.describe()
    return in_words or lookup(code).advice
