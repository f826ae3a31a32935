"""Looking up codes, their pages, and making findings with them.

This module imports nothing but the standard library, so that the audits, the twins and the command line can
all afford it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.resources import files

from twinrun.errors import UnknownCode
from twinrun.findings.entries import ENTRIES, FAMILIES, Entry
from twinrun.findings.finding import Finding

__all__ = ["FAMILIES", "Entry", "all_entries", "finding", "lookup", "nearest", "page"]

_CODES_BY_NAME = {entry.name: entry.code for entry in ENTRIES.values()}


def all_entries() -> tuple[Entry, ...]:
    """Every code, in order."""
    return tuple(ENTRIES.values())


def lookup(code: str) -> Entry:
    """The entry of a code (`TW203`, `tw203`) or a name (`random-op-in-parallel-map`)."""
    wanted = code.strip()
    entry = ENTRIES.get(wanted.upper()) or ENTRIES.get(_CODES_BY_NAME.get(_as_name(wanted), ""))
    if entry is None:
        raise UnknownCode(f"there is no code {wanted!r} in the catalogue", hint=_hint(wanted))
    return entry


def finding(
    code: str,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    confirmed: bool = False,
    evidence: Iterable[str] = (),
    fix: str | None = None,
) -> Finding:
    """A finding whose name comes from the catalogue, so that nobody types a name twice."""
    entry = lookup(code)
    return Finding(entry.code, entry.name, message, file, line, confirmed, tuple(evidence), fix)


def page(code: str) -> str:
    """The page of a code, in Markdown."""
    entry = lookup(code)
    return files("twinrun.findings").joinpath("pages", f"{entry.code}.md").read_text(encoding="utf-8")


def nearest(code: str) -> tuple[Entry, ...]:
    """The entries whose code or name looks most like this one, best first, three at most."""
    number = re.fullmatch(r"(?:TW)?(\d{1,4})", code.strip().upper())
    if number:
        near = [(_distance(number[1], known[2:]), known) for known in ENTRIES]
        found = [known for distance, known in sorted(near) if distance < (True, True, 0)]
    else:
        word = _as_name(code)
        found = [_CODES_BY_NAME[name] for name in _CODES_BY_NAME if len(word) > 2 and word in name]
        found += [_CODES_BY_NAME[name] for name in get_close_matches(word, _CODES_BY_NAME, n=3, cutoff=0.5)]
    return tuple(ENTRIES[found_code] for found_code in list(dict.fromkeys(found))[:3])


def _distance(wanted: str, known: str) -> tuple[bool, bool, int]:
    """Nearest: the same digits swapped, or one left out; then the same family, by number."""
    left_out = any(wanted == known[:i] + known[i + 1 :] for i in range(len(known)))
    slipped = left_out or sorted(wanted) == sorted(known)
    return not slipped, wanted[0] != known[0], abs(int(wanted) - int(known))


def _as_name(text: str) -> str:
    return text.strip().lower().replace("_", "-").replace(" ", "-")


def _hint(wanted: str) -> str:
    near = ", ".join(f"{entry.code} ({entry.name})" for entry in nearest(wanted))
    listing = "`twinrun explain` lists every code"
    return f"did you mean {near}? {listing}" if near else listing
