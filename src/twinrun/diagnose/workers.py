"""Threads, pools and loader workers as suspects: they race for what they share, or get done in another order."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.diagnose.evidence import Evidence, Row, one
from twinrun.diagnose.places import place, relative, site
from twinrun.diagnose.source import Source
from twinrun.diagnose.suspect import Candidate

_IN_ORDER = "take the results in the order in which the work was given out: {instead}"
_INSTEAD = {
    "as_completed": "[future.result() for future in futures], with the futures in a list",
    "Pool.imap_unordered": "pool.imap(…) in place of pool.imap_unordered(…)",
}
_SORTED = "number the pieces of work, and sort the results by that number"
_OWN_GENERATOR = "give each piece of work a generator of its own, made from (seed, its number)"


def candidates(evidence: Evidence, source: Source) -> Iterator[Candidate]:
    yield from _completion(evidence)
    yield from _threads(evidence)
    yield from _processes(evidence)
    yield from _loaders(evidence, source)


def _completion(evidence: Evidence) -> Iterator[Candidate]:
    for pair in evidence.of("completion"):
        row = one(pair)
        code = "TW205" if evidence.first.phase == "batch" else "TW403"
        yield Candidate(
            code, "completion", f"{row['what']} gives results in the order in which the workers get done", (site(row),),
            row["file"], row["line"], races=True, shown="with the results taken in the order in which the work was given out",
            advice=_IN_ORDER.format(instead=_INSTEAD.get(row["what"], _SORTED)),
        )  # fmt: skip


def _threads(evidence: Evidence) -> Iterator[Candidate]:
    """Threads race for what they share. Two experiments: they take turns, or, where one never ends, it is left out."""
    threads = [one(pair) for pair in evidence.of("thread")]
    if not threads:
        return
    first = threads[0]
    notes = tuple(f"{row['count']} threads run {row['what']}, started at {place(row)}" for row in threads[:3])
    pool = first["seeded"] == "concurrent" and evidence.first.phase == "batch"
    code, message = (
        ("TW205", "workers of a pool race for what they draw from")
        if pool
        else ("TW403", "threads of the program race with one another")
    )
    yield Candidate(
        code, "thread", message, tuple(site(row) for row in threads), first["file"], first["line"], notes=notes,
        races=True, shown="with these threads taking turns", advice=_OWN_GENERATOR if pool else "",
    )  # fmt: skip
    left_out = tuple(("thread-left-out", row["file"], row["line"]) for row in threads)
    yield Candidate(
        code, "thread-left-out", message, left_out, first["file"], first["line"], notes=notes, races=True,
        shown="with these threads left out", advice=_OWN_GENERATOR if pool else "",
    )  # fmt: skip


def _processes(evidence: Evidence) -> Iterator[Candidate]:
    """Without an experiment: processes that hand their work over through a queue cannot take turns."""
    started = [one(pair) for pair in evidence.of("process")]
    if started:
        first = started[0]
        yield Candidate(
            "TW205", "process", "the order in which worker processes get done reaches training", (), first["file"], first["line"],
            notes=tuple(f"{row['count']} processes run {row['what']}, started at {place(row)}" for row in started[:3]),
            advice=_SORTED,
        )  # fmt: skip


def _loaders(evidence: Evidence, source: Source) -> Iterator[Candidate]:
    for pair in evidence.of("loader"):
        row = one(pair)
        file, line, how = _drawn_by(evidence, source, row)
        notes = [f"its workers meet in __getitem__ at {place(row)}"]
        if how:
            notes.insert(0, f"{how} at {relative(file)}:{line}")
        yield Candidate(
            "TW205", "loader", f"{row['seeded']} workers of {row['what']} race for one random stream", (("loader", row["file"], row["line"]),),
            file, line, notes=tuple(notes), races=True, shown="with one worker",
        )  # fmt: skip


def _drawn_by(evidence: Evidence, source: Source, loader: Row) -> tuple[str, int, str]:
    """Where the workers draw: a global stream is in the ledger, a generator object only in the source."""
    drawn = [r for p in evidence.of("numpy", "python-random") if (r := one(p))["where"] == "pydataset"]
    if drawn:
        return drawn[0]["file"], drawn[0]["line"], ""
    for file, line, text in source.draws_of_class(loader["file"], loader["line"]):
        return file, line, f"{text} draws from a generator that they share,"
    return loader["file"], loader["line"], ""
