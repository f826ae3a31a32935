"""The codes. They are stable: one is added when a real case needs it, with a page, and never reused."""

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


# The page of a code, pages/CODE.md, begins with its summary and advice.
NAMES: dict[str, str] = {
    "TW101": "unseeded-python-random",
    "TW102": "unseeded-numpy",
    "TW103": "unseeded-generator",
    "TW104": "unseeded-tensorflow",
    "TW105": "unseeded-keras",
    "TW106": "seeded-too-late",
    "TW107": "repeated-stream",
    "TW108": "os-entropy",
    "TW201": "unseeded-shuffle",
    "TW202": "completion-order",
    "TW203": "random-op-in-parallel-map",
    "TW204": "host-random-in-map",
    "TW205": "loader-workers",
    "TW207": "order-not-restored",
    "TW301": "hash-order",
    "TW302": "file-order",
    "TW303": "clock",
    "TW304": "input-changed",
    "TW401": "nondeterministic-op",
    "TW402": "thread-count",
    "TW403": "thread-race",
    "TW404": "kernel-choice",
    "TW405": "compiler",
    "TW406": "no-deterministic-kernel",
    "TW501": "package-version",
    "TW502": "accelerator-stack",
    "TW503": "hardware",
    "TW504": "numeric-flags",
    "TW505": "thread-settings",
    "TW506": "code-or-data",
    "TW507": "process-settings",
    "TW601": "worker-count",
    "TW602": "sharding",
    "TW603": "reduction-order",
    "TW604": "replica-drift",
    "TW701": "state-not-restored",
}
# Codes that have a page and that nothing emits yet.
PLANNED = frozenset({"TW404", "TW405", "TW603", "TW604", "TW701"})
