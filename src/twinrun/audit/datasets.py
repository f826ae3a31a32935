"""The seam to the audit of the datasets that a program really builds, which means running it.

The source audit itself runs nothing. Whoever can run the program and look at its datasets answers here.
"""

from __future__ import annotations

from collections.abc import Sequence

from twinrun.findings.finding import Finding


def audit_datasets(program: str, args: Sequence[str], *, module: bool = False) -> list[Finding] | None:
    """Findings about the datasets of `python program args…`; None when they were not looked at."""
    return None
