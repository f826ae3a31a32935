"""What `twinrun fix` found: the patch, what was proved with it, and what is left."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from twinrun.findings.finding import Finding
from twinrun.result import Judged

SCHEMA: Final = "twinrun/fix/1"


class Change(Struct, frozen=True):
    """One fix of the patch. `safe`: it can change nothing but randomness and order."""

    code: str
    file: str
    line: int
    note: str
    safe: bool
    change: str
    cell: int | None = None  # of a notebook: the line is one of this cell


class Proof(Struct, frozen=True):
    """What was equal in the runs of the program with the patch."""

    runs: int
    steps: int
    contract: str = "bitwise"
    output: str | None = None  # what of the program's output was compared, where it was


class FixResult(Judged, frozen=True, tag_field="schema", tag=SCHEMA):
    """`verdict` is that of the program with the patch. `arguments` are words that its command line needs beside it."""

    diff: str = ""
    changes: tuple[Change, ...] = ()
    arguments: tuple[str, ...] = ()
    proof: Proof | None = None
    not_needed: tuple[Change, ...] = ()
    left: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    checks: int = 0
    seconds: float = 0.0
    written: bool = False

    @property
    def unchanged(self) -> bool:
        """Whether the program is as it was: nothing to change, or nothing that would help."""
        return not self.changes and not self.arguments
