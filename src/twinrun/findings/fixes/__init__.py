"""Fixes made from the user's own source: the line, the line to write instead, and a patch of them all."""

from __future__ import annotations

from twinrun.findings.fixes.diff import as_patch
from twinrun.findings.fixes.fix import SEED, Fix
from twinrun.findings.fixes.propose import propose
from twinrun.findings.fixes.source_file import SourceFile, read_own
from twinrun.findings.fixes.together import Patch, Place, line_in, places_of, together

__all__ = [
    "SEED", "Fix", "Patch", "Place", "SourceFile", "as_patch", "line_in", "places_of", "propose", "read_own", "together",
]  # fmt: skip
