"""What a code is. Each has a page, pages/CODE.md, and is known by it. Codes are stable, and never reused."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES: dict[str, str] = {
    "TW1": "randomness",
    "TW2": "input pipeline",
    "TW3": "Python and the outside",
    "TW4": "computation",
    "TW5": "environment",
    "TW6": "distributed",
    "TW7": "resume",
}
NOT_EMITTED_YET = "not emitted yet"


@dataclass(frozen=True)
class Entry:
    """One code: `summary` says what it is, `advice` what to do when no rewrite can be made.

    A code that is not `emitted` has a page, and nothing in this version of Twinrun reports it.
    """

    code: str
    name: str
    summary: str
    advice: str
    page: str = ""
    emitted: bool = True

    @property
    def family(self) -> str:
        """The family's title: `randomness`, `input pipeline`, …"""
        return FAMILIES[self.family_code]

    @property
    def family_code(self) -> str:
        return self.code[:3]

    @property
    def listed_summary(self) -> str:
        """The summary as the lists of codes show it."""
        return self.summary if self.emitted else f"{self.summary} ({NOT_EMITTED_YET})"
