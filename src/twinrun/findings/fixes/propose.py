"""From a finding's code and place to a fix of the user's own source, where one can be made."""

from __future__ import annotations

import ast
from collections.abc import Callable

from twinrun.findings.catalogue import lookup
from twinrun.findings.fixes import (
    clock_and_entropy,
    completion_order,
    determinism,
    generators,
    host_random,
    late_seed,
    layers,
    listings,
    loaders,
    parallel_map,
    seeding,
    sets,
    shuffles,
)
from twinrun.findings.fixes.fix import Draft, Fix, apply, make
from twinrun.findings.fixes.module import Module

Fixer = Callable[[Module, int], Draft | None]

# Tried in order; the first draft is taken.
FIXERS: dict[str, tuple[Fixer, ...]] = {
    "TW101": (seeding.unseeding_taken_out, seeding.python_random),
    "TW102": (seeding.unseeding_taken_out, seeding.numpy_random),
    "TW103": (generators.seeded,),
    "TW104": (seeding.tensorflow_random,),
    "TW105": (seeding.keras_random, layers.seeded),
    "TW106": (late_seed.moved_up,),
    "TW108": (clock_and_entropy.constant,),
    "TW201": (shuffles.seeded,),
    "TW202": (completion_order.deterministic,),
    "TW203": (parallel_map.stateless,),
    "TW204": (host_random.in_map, host_random.in_generator),
    "TW205": (loaders.generator_per_batch,),
    "TW301": (sets.sorted_iteration,),
    "TW302": (listings.sorted_listing,),
    "TW303": (clock_and_entropy.constant,),
    "TW401": (determinism.repaired,),
}
# What the program as a whole must do: fixed in the program's own file, wherever the finding is.
OF_THE_PROGRAM = {"TW101", "TW102", "TW104", "TW105"}


def propose(
    code: str, file: str, line: int, source: str, *, program: tuple[str, str] | None = None
) -> Fix | None:
    """A fix for the finding `code` at `file:line`, made from the user's own source; None when unsure.

    `source` is the file's text with its line endings as they are (`open(…, newline="")`). `program` is the
    name and text of the script that was started: a missing seed belongs there, not in a module it imports.
    """
    known = lookup(code).code
    if program is not None and known in OF_THE_PROGRAM and program[0] != file:
        found = _first(known, program[0], _last_line(program[1]), program[1], program_file=True)
        if found is not None:
            return found
    return _first(known, file, line, source, program_file=program is not None and program[0] == file)


def _first(code: str, file: str, line: int, source: str, *, program_file: bool) -> Fix | None:
    try:
        module = Module(source, is_program=program_file or None)
    except (SyntaxError, ValueError):
        return None
    for fixer in FIXERS.get(code, ()):
        draft = fixer(module, line)
        if draft is not None and _sound(source, draft):
            return make(code, file, line, source, draft)
    return None


def _sound(source: str, draft: Draft) -> bool:
    """Whether the rewritten source is another one and parses."""
    fixed = apply(source, draft.edits)
    try:
        ast.parse(fixed)
    except (SyntaxError, ValueError):
        return False
    return fixed != source


def _last_line(source: str) -> int:
    return source.count("\n") + 1
