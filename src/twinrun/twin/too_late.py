"""What came before a seed that is set now: draws already made and objects already built keep what they have. Nothing is
guessed: what is listed is found in the process."""

from __future__ import annotations

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.protocol.registry import sources

_SHOWN = 5


def came_before() -> list[str]:
    """Draws and objects that a seed set now comes too late for, in words."""
    return [found for source in sources() for found in source.used_before()]


def too_late(found: list[str], file: str | None, line: int | None) -> Finding | None:
    if not found:
        return None
    shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return finding(
        "TW106",
        f"pinned too late for what came before: {shown}",
        file=file,
        line=line,
        evidence=found,
        fix="call twinrun.pin(42) before anything else, or use `twinrun run --pin`, which always comes first",
    )
