"""The outside world as a suspect: files, listings, the order of hashes and addresses."""

from __future__ import annotations

import os
from collections.abc import Iterator

from twinrun.diagnose.evidence import Evidence, differs, one
from twinrun.diagnose.places import relative, site
from twinrun.diagnose.source import Place, Source
from twinrun.diagnose.suspect import Candidate


def candidates(evidence: Evidence, source: Source) -> Iterator[Candidate]:
    yield from _files(evidence)
    yield from _listings(evidence)
    yield from _hash_order(source)
    yield from _addresses(source)


def _files(evidence: Evidence) -> Iterator[Candidate]:
    read = evidence.of("file")
    changed = [one(pair) for pair in read if differs(pair) and None not in pair]
    if changed:
        first = changed[0]
        paths = [row["what"] for row in changed]
        # Read in one run only: what the others point to.
        beside = [one(pair)["what"] for pair in read if None in pair]
        yield Candidate(
            "TW304", "file", f"the input file {relative(first['what'])} was not the same in both runs", (),
            first["file"], first["line"], notes=tuple(f"{relative(path)} had other content" for path in paths[:4]),
            settings={"restore": paths + beside}, shown="with these files put back before each run",
        )  # fmt: skip


def _listings(evidence: Evidence) -> Iterator[Candidate]:
    for a, b in evidence.of("listing"):
        if a is None or b is None or not differs((a, b)):
            continue
        if a["seeded"] == b["seeded"]:
            yield Candidate("TW302", "listing", f"{a['what']} gives the files in an order that is not fixed", (site(a),), a["file"], a["line"],
                            shown="with this listing sorted")  # fmt: skip
        else:
            message = f"{a['what']} found other files in the one run than in the other"
            yield Candidate("TW304", "listing", message, (), a["file"], a["line"])


def _hash_order(source: Source) -> Iterator[Candidate]:
    if os.environ.get("PYTHONHASHSEED", "random") != "random":
        return
    places = source.hash_order()
    # Without a place it is tried all the same, last: no ledger sees the order of a set.
    file, line, _ = places[0] if places else (None, None, "")
    yield Candidate(
        "TW301", "hash" if places else "hash-unseen",
        "the order of a set, or a value of hash(), differs from process to process", (), file, line,
        notes=_written(places), settings={"environment": {"PYTHONHASHSEED": "0"}}, shown="with PYTHONHASHSEED=0",
    )  # fmt: skip


def _addresses(source: Source) -> Iterator[Candidate]:
    """Objects without a hash of their own lie in a set by their address; id() is the address itself."""
    asked = source.addresses()
    places = [*asked, *source.hash_order()]
    if not places:
        return
    file, line, _ = places[0]
    yield Candidate(
        "TW301", "addresses", "the address of an object (id(), or the hash that comes of it) differs from process to process",
        (), file, line, notes=_written(places), bonus=3 if asked else 0,
        settings={"addresses": True, "environment": {"PYTHONHASHSEED": "0"}},
        shown="with the addresses of objects held still",
        advice="number the objects yourself as they are made, and order them by that number: an address is no property of theirs",
    )  # fmt: skip


def _written(places: list[Place]) -> tuple[str, ...]:
    return tuple(f"{text} at {relative(file)}:{line}" for file, line, text in places[:4])
