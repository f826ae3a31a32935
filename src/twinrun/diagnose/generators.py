"""Sources without a seed as suspects: generator objects, entropy of the system, names that it makes up, the clock."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.diagnose.evidence import Evidence, Row, differs, one
from twinrun.diagnose.places import by_library, by_own_road, place, site
from twinrun.diagnose.suspect import Candidate

_SOURCES = (
    ("generator", "TW103", "a random generator is made without a seed"),
    ("entropy", "TW108", "entropy of the operating system is drawn"),
    ("name", "TW108", "a name or number that the system makes up for each run is used"),
    ("clock", "TW303", "the clock is read"),
    ("date", "TW303", "the date or time is read"),
)
_SHARED = "tf.random.get_global_generator"
_BEHIND = -3
_MADE_UP = "use it to name things and nothing else: what training needs comes from a seeded generator or the configuration"


def candidates(evidence: Evidence) -> Iterator[Candidate]:
    for kind, code, message in _SOURCES:
        rows = [one(pair) for pair in evidence.of(kind) if differs(pair)]
        shared = [row for row in rows if row["what"] == _SHARED]
        own = [row for row in rows if by_own_road(row) and row not in shared]
        for members, bonus in ((own, 0), ([r for r in rows if by_library(r) and r not in shared], _BEHIND)):
            if members:
                yield _candidate(kind, code, message, members, bonus)
        if shared:
            yield _global_generator(evidence, shared)


def _candidate(kind: str, code: str, message: str, rows: list[Row], bonus: int) -> Candidate:
    first = rows[0]
    # A temporary name is free for one run at a time.
    settings = {"sequential": True} if any(row["what"].startswith("tempfile.") for row in rows) else {}
    return Candidate(
        code, kind, f"{message}: {first['what']}", tuple(site(row) for row in rows), first["file"], first["line"],
        notes=tuple(f"{row['what']} at {place(row)}" for row in rows[:4]), settings=settings,
        shown=f"with {first['what']} held still there", bonus=bonus, advice=_MADE_UP if kind == "name" else "",
    )  # fmt: skip


def _global_generator(evidence: Evidence, made: list[Row]) -> Candidate:
    """It is made by the first who asks for it: to blame is the line that draws."""
    drawn = [r for p in evidence.of("tf-generator") if (r := one(p))["seeded"] == "global"]
    blamed = drawn[0] if drawn else made[0]
    notes = [f"it is made at {place(made[0])}, from the system's entropy"]
    notes += [f"it is drawn from at {place(row)}" for row in drawn[:3]]
    return Candidate(
        "TW103", "generator", "TensorFlow's global generator is drawn from, and was never given a seed",
        tuple(site(row) for row in made), blamed["file"], blamed["line"], notes=tuple(notes),
        shown="with the global generator made from a fixed seed",
    )  # fmt: skip
