"""Looking up codes, their pages, and making findings with them.

This module imports nothing but the standard library, so that the audits, the twins and the command line can
all afford it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from twinrun.errors import UnknownCode
from twinrun.findings.entries import FAMILIES, NOT_EMITTED_YET, Entry
from twinrun.findings.finding import Finding

__all__ = ["FAMILIES", "Entry", "all_entries", "finding", "lookup", "nearest", "page", "register"]

_registered: dict[str, Entry] = {}
_PAGE = re.compile(
    r"---\nsummary: (?P<summary>.+)\nadvice: (?P<advice>.+)\n(?P<planned>status: planned\n)?---\n\n"
    r"(?P<page># (?P<name>\S+) \((?P<code>\w+)\)\n(?:.|\n)+)"
)


def register(entry: Entry) -> None:
    """Add a code from another package. Registering the same entry again does nothing.

    Raises ValueError when the code stands for something else already, or the name belongs to another code.
    """
    entries = _entries()
    known = entries.get(entry.code)
    if entry == known:
        return
    if known is not None:
        raise ValueError(f"{entry.code} is already registered as {known.name}: codes are never reused")
    for other in entries.values():
        if other.name == entry.name:
            raise ValueError(f"the name {entry.name} already belongs to {other.code}")
    if not re.fullmatch(r"[A-Z]+\d+", entry.code) or entry.name != _as_name(entry.name):
        raise ValueError(f"a code looks like XX101 and a name like-this, not {entry.code} and {entry.name}")
    _registered[entry.code] = entry
    FAMILIES.setdefault(entry.family_code, "from other packages")


def all_entries() -> tuple[Entry, ...]:
    """Every code, in order."""
    return tuple(entry for _, entry in sorted(_entries().items()))


def lookup(code: str) -> Entry:
    """The entry of a code (`TW203`, `tw203`) or a name (`random-op-in-parallel-map`)."""
    wanted = code.strip()
    entries = _entries()
    found = entries.get(wanted.upper())
    found = found or next((each for each in entries.values() if each.name == _as_name(wanted)), None)
    if found is None:
        raise UnknownCode(f"there is no code {wanted!r} in the catalogue", hint=_hint(wanted))
    return found


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
    title = f"# {entry.name} ({entry.code})\n"
    text = entry.page or f"{title}\n{entry.summary}\n\n{entry.advice}\n"
    return text if entry.emitted else text.replace(title, f"{title}\nThis code is {NOT_EMITTED_YET}.\n", 1)


def nearest(code: str) -> tuple[Entry, ...]:
    """The entries whose code or name looks most like this one, best first, three at most."""
    number = re.fullmatch(r"(?:TW)?(\d{1,4})", code.strip().upper())
    if number:
        near = [(_distance(number[1], known[2:]), known) for known in _own_entries()]
        found = [known for distance, known in sorted(near) if distance < (True, True, 0)]
    else:
        word, codes = _as_name(code), {entry.name: entry.code for entry in all_entries()}
        found = [codes[name] for name in codes if len(word) > 2 and word in name]
        found += [codes[name] for name in get_close_matches(word, codes, n=3, cutoff=0.5)]
    return tuple(map(lookup, list(dict.fromkeys(found))[:3]))


def _entries() -> dict[str, Entry]:
    return _own_entries() | _registered


@cache
def _own_entries() -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for file in files("twinrun.findings").joinpath("pages").iterdir():
        read = _PAGE.fullmatch(file.read_text(encoding="utf-8"))
        assert read is not None, f"{file.name} does not begin with its summary, its advice and its title"
        about = read.groupdict()
        emitted = about.pop("planned") is None
        found[about["code"]] = Entry(**about, emitted=emitted)
    return found


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
