"""Fixes made from the user's own source: the line, the line to write instead, and a patch of them all."""

from __future__ import annotations

from twinrun.findings.fixes.diff import as_diff
from twinrun.findings.fixes.fix import Fix, combined
from twinrun.findings.fixes.propose import propose

__all__ = ["Fix", "as_diff", "combined", "propose"]
