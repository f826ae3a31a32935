"""From evidence to candidates: which sources could have made what differed differ, best supported first.

A stream that gave the same in both twins is no candidate, however unseeded; one that differed is a candidate and no
more: whether it reaches training is for the experiment to say."""

from __future__ import annotations

import os
from collections.abc import Iterator

from twinrun.diagnose.candidate import Candidate, Site
from twinrun.diagnose.evidence import Evidence, Row, differs, one
from twinrun.diagnose.source import Source

_OWN_ROADS = ("", "uuid", "secrets", "random", "numpy", "glob", "pathlib", "os", "concurrent", "threading")
_SEED_OF = {"python-random": "seed:python-random", "keras-seed": "seed:python-random", "numpy": "seed:numpy",
            "tf-random": "seed:tensorflow", "shuffle": "seed:tensorflow"}  # fmt: skip

# How likely each kind is, by the phase where the twins part. What is not named ranks lowest.
_RANKS: dict[str, dict[str, int]] = {
    "init": {"keras-seed": 10, "tf-random": 9, "numpy": 8, "python-random": 8, "generator": 8, "file": 6, "hash": 5, "entropy": 4, "listing": 4, "date": 2, "clock": 2},
    "batch": {"loader": 12, "order": 12, "parallel": 11, "shuffle": 10, "file": 10, "generator": 9, "numpy": 9, "python-random": 9, "listing": 9, "tf-random": 8, "hash": 6, "keras-seed": 5, "entropy": 5, "thread": 8, "thread-left-out": 2, "date": 3, "clock": 3},
    "later": {"tf-random": 9, "keras-seed": 9, "thread": 8, "thread-left-out": 2, "numpy": 7, "python-random": 7, "generator": 7, "file": 9, "clock": 5, "date": 5, "entropy": 4, "hash": 3, "parallel": 3, "order": 3, "shuffle": 3, "loader": 3, "listing": 3},
}  # fmt: skip


def candidates(evidence: Evidence, source: Source) -> list[Candidate]:
    table = _RANKS.get("init" if evidence.first.step == 0 else evidence.first.phase, _RANKS["later"])
    tainted = _tainted_streams(evidence)
    found: list[Candidate] = []
    for candidate in _all(evidence, source, tainted):
        rank = table.get(candidate.kind, 1)
        if tainted and candidate.kind in ("clock", "date", "entropy", "hash"):
            rank += 10  # a seed was set to something that differs: it came from there
        if candidate.kind == "keras-seed" and evidence.streams:
            rank += 3
        found.append(_ranked(candidate, rank))
    return sorted(found, key=lambda candidate: -candidate.rank)


def _ranked(candidate: Candidate, rank: int) -> Candidate:
    from dataclasses import replace

    return replace(candidate, rank=rank)


def _tainted_streams(evidence: Evidence) -> set[str]:
    """Streams that were seeded, with another value in each twin."""
    return {one(pair)["kind"] for pair in evidence.of(*set(_SEED_OF.values())) if differs(pair)}


def _all(evidence: Evidence, source: Source, tainted: set[str]) -> Iterator[Candidate]:
    for kind in ("keras-seed", "tf-random", "numpy", "python-random", "shuffle"):
        if _SEED_OF[kind] not in tainted:
            yield from _streams(evidence, kind)
    yield from _outside(evidence)
    yield from _stages(evidence)
    yield from _hash_order(evidence, source)


def _streams(evidence: Evidence, kind: str) -> Iterator[Candidate]:
    """The streams that differ, apart by what a fix would be: too late a seed, none at all, and where it is drawn."""
    groups: dict[str, list[Row]] = {}
    for pair in evidence.of(kind):
        row = one(pair)
        unseeded = row["seeded"] == "no"
        if (unseeded or (kind != "shuffle" and differs(pair))) and (
            row["via"] in _OWN_ROADS or kind in ("keras-seed", "tf-random")
        ):
            groups.setdefault(_stream_code(evidence, kind, row), []).append(row)
    for code, rows in groups.items():
        first = rows[0]
        late = _seed_after(evidence, kind, first)
        notes = [f"{row['what']} is drawn at {place(row)}" for row in rows[:4]]
        if late is not None:
            notes.append(f"the seed is set at {place(late)}, after that")
        yield Candidate(
            code, kind, _stream_message(code, kind, first, len(rows)), tuple(_site(row) for row in rows),
            first["file"], first["line"], notes=tuple(notes), shown=f"with {first['what']} held still there",
        )  # fmt: skip


def _stream_code(evidence: Evidence, kind: str, row: Row) -> str:
    if _seed_after(evidence, kind, row) is not None:
        return "TW106"
    if kind in ("numpy", "python-random"):
        if row["where"] in ("py_function", "generator"):
            return "TW204"
        if row["where"] == "pydataset" and evidence.of("loader"):
            return "TW205"
    if kind == "tf-random" and row["via"] in ("tf_keras",):
        return "TW105"
    return {
        "keras-seed": "TW105",
        "tf-random": "TW104",
        "numpy": "TW102",
        "python-random": "TW101",
        "shuffle": "TW201",
    }[kind]


def _seed_after(evidence: Evidence, kind: str, row: Row) -> Row | None:
    """The call that seeds this stream, when it came after the first draw and none came before."""
    seeds = [one(pair) for pair in evidence.of(_SEED_OF[kind])]
    if not seeds or any(seed["order"] < row["order"] for seed in seeds):
        return None
    return seeds[0]


def _stream_message(code: str, kind: str, row: Row, sites: int) -> str:
    more = f" (and at {sites - 1} more places)" if sites > 1 else ""
    if code == "TW106":
        return f"{row['what']} was used before the seed was set{more}"
    if code == "TW204":
        inside = "a generator" if row["where"] == "generator" else "a host function of the input pipeline"
        return f"{row['what']} is drawn inside {inside}{more}"
    if code == "TW205":
        return f"{row['what']} is drawn by several loader workers from one stream{more}"
    return {
        "keras-seed": f"Keras took a default seed from Python's random, which is not seeded{more}",
        "tf-random": f"a TensorFlow random op runs without a seed{more}",
        "numpy": f"{row['what']} draws from NumPy's global stream, which is not seeded{more}",
        "python-random": f"{row['what']} draws from Python's global stream, which is not seeded{more}",
        "shuffle": f"{row['what']} has no seed{more}",
    }[kind]


def _outside(evidence: Evidence) -> Iterator[Candidate]:
    for kind, code, message in (
        ("generator", "TW103", "a random generator is made without a seed"),
        ("entropy", "TW108", "entropy of the operating system is drawn"),
        ("clock", "TW303", "the clock is read"),
        ("date", "TW303", "the date or time is read"),
    ):
        rows = [one(pair) for pair in evidence.of(kind) if differs(pair) and one(pair)["via"] in _OWN_ROADS]
        if rows:
            notes = tuple(f"{row['what']} at {place(row)}" for row in rows[:4])
            first = rows[0]
            yield Candidate(code, kind, f"{message}: {first['what']}", tuple(_site(row) for row in rows), first["file"],
                            first["line"], notes=notes, shown=f"with {first['what']} held still there")  # fmt: skip
    yield from _files_and_listings(evidence)
    yield from _threads(evidence)


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
        code, "thread", message, tuple(_site(row) for row in threads), first["file"], first["line"], notes=notes,
        races=True, shown="with these threads taking turns",
    )  # fmt: skip
    left_out = tuple(("thread-left-out", row["file"], row["line"]) for row in threads)
    yield Candidate(
        code, "thread-left-out", message, left_out, first["file"], first["line"], notes=notes, races=True,
        shown="with these threads left out",
    )  # fmt: skip


def _files_and_listings(evidence: Evidence) -> Iterator[Candidate]:
    read = evidence.of("file")
    changed = [one(pair) for pair in read if differs(pair) and None not in pair]
    if changed:
        first = changed[0]
        paths = [row["what"] for row in changed]
        beside = [
            one(pair)["what"] for pair in read if None in pair
        ]  # read in one run only: what the others point to
        yield Candidate(
            "TW304", "file", f"the input file {relative(first['what'])} was not the same in both runs", (),
            first["file"], first["line"], notes=tuple(f"{relative(path)} had other content" for path in paths[:4]),
            settings={"restore": paths + beside}, shown="with these files put back before each run",
        )  # fmt: skip
    for a, b in evidence.of("listing"):
        if a is None or b is None or not differs((a, b)):
            continue
        if a["seeded"] == b["seeded"]:
            yield Candidate("TW302", "listing", f"{a['what']} gives the files in an order that is not fixed", (_site(a),), a["file"], a["line"],
                            shown="with this listing sorted")  # fmt: skip
        else:
            yield Candidate(
                "TW304",
                "listing",
                f"{a['what']} found other files in the one run than in the other",
                (),
                a["file"],
                a["line"],
            )


def _stages(evidence: Evidence) -> Iterator[Candidate]:
    for pair in evidence.of("parallel"):
        row = one(pair)
        random = [inner for inner in row["inside"] if inner[0] in ("tf-random", "tf-generator", "keras-draw")]
        host = [inner for inner in row["inside"] if inner[0] == "host-function"]
        if random:
            kind, file, line, what = random[0]
            drawn = "a tf.random.Generator" if kind == "tf-generator" else what
            yield Candidate(
                "TW203", "parallel", f"a random op inside a parallel {row['what'].split('(')[0].removeprefix('Dataset.')}", (("parallel", row["file"], row["line"]),),
                row["file"], row["line"], notes=(f"{drawn} is drawn at {relative(file)}:{line}; parallel calls race for its state",),
                races=True, shown="with this stage run serially",
            )  # fmt: skip
        elif host:
            _, file, line, what = host[0]
            drawn_rows = [
                r for p in evidence.of("numpy", "python-random") if (r := one(p))["where"] == "py_function"
            ]
            blamed = drawn_rows[0] if drawn_rows else row
            note = f"{what} runs on the host at {relative(file)}:{line}; parallel calls race for what it draws from"
            yield Candidate(
                "TW204", "parallel", f"host randomness inside a parallel {row['what'].split('(')[0].removeprefix('Dataset.')}", (("parallel", row["file"], row["line"]),),
                blamed["file"], blamed["line"], notes=(note,), races=True, shown="with this stage run serially",
            )  # fmt: skip
        if row["seeded"] == "False":
            yield Candidate(
                "TW202", "order", f"{row['what']} gives elements in the order in which they get done", (("order", row["file"], row["line"]),),
                row["file"], row["line"], races=True, shown="with deterministic=True there",
            )  # fmt: skip
    for pair in evidence.of("loader"):
        row = one(pair)
        drawn = [r for p in evidence.of("numpy", "python-random") if (r := one(p))["where"] == "pydataset"]
        blamed = drawn[0] if drawn else row
        yield Candidate(
            "TW205", "loader", f"{row['seeded']} workers of {row['what']} race for one random stream", (("loader", row["file"], row["line"]),),
            blamed["file"], blamed["line"], notes=(f"its workers meet in __getitem__ at {place(row)}",), races=True,
            shown="with one worker",
        )  # fmt: skip


def _hash_order(evidence: Evidence, source: Source) -> Iterator[Candidate]:
    if os.environ.get("PYTHONHASHSEED", "random") != "random":
        return
    places = source.hash_order()
    # Without a place it is tried all the same, last: no ledger sees the order of a set.
    file, line, _ = places[0] if places else (None, None, "")
    yield Candidate(
        "TW301", "hash" if places else "hash-unseen",
        "the order of a set, or a value of hash(), differs from process to process", (), file, line,
        notes=tuple(f"{text} at {relative(f)}:{n}" for f, n, text in places[:4]),
        settings={"environment": {"PYTHONHASHSEED": "0"}}, shown="with PYTHONHASHSEED=0",
    )  # fmt: skip


def _site(row: Row) -> Site:
    return (row["kind"], row["file"], row["line"])


def place(row: Row) -> str:
    return f"{relative(row['file'])}:{row['line']}"


def relative(path: str) -> str:
    """As a user would write it: from where they stand, when it lies below."""
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
