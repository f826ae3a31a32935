"""Fixes of several findings in one patch: each is made in the source as those before it leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from twinrun.errors import UnknownCode
from twinrun.findings.finding import Finding
from twinrun.findings.fixes.fix import Fix, lines_of
from twinrun.findings.fixes.propose import OF_THE_PROGRAM, propose
from twinrun.knowledge.functions import NUMPY, PYTHON, TENSORFLOW
from twinrun.notebooks.places import line_of_text

# A seed that is made of the clock is replaced before others are added, a late one is moved up before one is called
# missing, and what a seed of the program covers needs no fix of its own.
_ORDER = {"TW108": 0, "TW303": 0, "TW106": 1, **dict.fromkeys(OF_THE_PROGRAM, 2)}
# Findings that a seed of the whole program can make an end of, and the stream that it must seed. A graph of TensorFlow 1
# has a seed of its own: the fixer of TW104 knows.
_STREAM = {"TW101": {PYTHON}, "TW102": {NUMPY}, "TW105": {PYTHON}, "TW201": {NUMPY, TENSORFLOW}}


@dataclass(frozen=True)
class Place:
    """Where a fix is wanted: a code and a line, with the texts that this file and the program had at the time."""

    code: str
    file: str
    line: int
    text: str = field(repr=False)
    program_text: str = field(repr=False, default="")


@dataclass(frozen=True)
class Patch:
    """The files that change, with their new text, and the fixes in the order in which they were made."""

    texts: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[Place, Fix] = field(default_factory=dict)


def together(
    places: Iterable[Place],
    sources: Mapping[str, str],
    *,
    program: str | None = None,
    seed: int | None = None,
    accept: Callable[[Fix], bool] = lambda fix: True,
) -> Patch:
    """One patch of `sources` for all places, of the fixes that `accept` takes. Where it writes more than one seed, they
    are one constant."""
    from twinrun.findings.fixes.fixers import seed_number, with_constant

    once = dict.fromkeys(places)
    ordered = sorted(once, key=lambda place: _ORDER.get(place.code, 3))  # sorted() is stable
    if program is not None:
        seed = seed_number(sources[program], seed)
    patch = _made(ordered, sources, program, seed, accept)
    if seed is None or sum(fix.seeds for fix in patch.made.values()) < 2:
        return patch
    writing = {fix.file for fix in patch.made.values() if fix.seeds}
    named = {file: text for file in writing if (text := with_constant(sources[file], seed)) is not None}
    patch = _made(ordered, {**sources, **named}, program, seed, accept)
    touched = {fix.file for fix in patch.made.values()}
    return Patch({file: text for file, text in patch.texts.items() if file in touched}, patch.made)


def _made(
    places: Iterable[Place],
    sources: Mapping[str, str],
    program: str | None,
    seed: int | None,
    accept: Callable[[Fix], bool],
) -> Patch:
    texts = dict(sources)
    made: dict[Place, Fix] = {}
    for place in places:
        if place.file not in texts or (program is not None and _is_covered(place, texts[program])):
            continue
        line = line_in(texts[place.file], place.line, place.text)
        started = None if program is None else (program, texts[program])
        try:
            fix = propose(place.code, place.file, line, texts[place.file], program=started, seed=seed)
        except UnknownCode:  # from the result of a newer Twinrun
            continue
        if fix is not None and accept(fix):
            texts[fix.file] = fix.fixed
            made[place] = fix
    changed = {fix.file for fix in made.values()}
    return Patch({file: texts[file] for file in texts if file in changed}, made)


def _is_covered(place: Place, program_text: str) -> bool:
    """Whether an earlier fix, which the program did not have when this was found, seeds what is drawn there."""
    from twinrun.findings.fixes.fixers import streams_seeded

    if place.code not in _STREAM or program_text == place.program_text:
        return False
    return _STREAM[place.code] <= streams_seeded(program_text) - streams_seeded(place.program_text)


def line_in(text: str, line: int, of: str) -> int:
    """Where the line of one text is in another: of lines that changed, the one that is most like it."""
    if text == of:
        return line
    before, after = lines_of(of), lines_of(text)
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if not i <= line - 1 < j:
            continue
        if tag == "equal":
            return k + line - i
        here = before[line - 1]
        alike = [SequenceMatcher(None, here, each, autojunk=False).ratio() for each in after[k:m]]
        return k + 1 + alike.index(max(alike)) if alike else k + 1
    return line


def places_of(
    findings: Iterable[Finding], sources: Callable[[str], str | None], program: str | None
) -> list[Place]:
    """The places of findings in files that can be read. Of one file, one spelling: a finding may name the program by
    another path than it was started by."""
    found = []
    started = (sources(program) if program is not None else None) or ""
    for each in findings:
        if each.file is None or each.line is None:
            continue
        file = program if program is not None and _same(each.file, program) else each.file
        text = sources(file)
        if text is not None:
            found.append(Place(each.code, file, line_of_text(text, each.cell, each.line), text, started))
    return found


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).resolve() == Path(other).resolve()
    except OSError:
        return False
