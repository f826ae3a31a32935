"""Which fixers there are for which code. Everything from here on imports libcst."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from twinrun.findings.fixes import (
    clock_and_entropy,
    determinism,
    edit,
    given_seeds,
    host_random,
    parallel_map,
    seeding,
    sorting,
)
from twinrun.findings.fixes.edit import Draft
from twinrun.findings.fixes.fix import Fix, parses
from twinrun.findings.fixes.module import Module, Unsure, parsed

Fixer = Callable[[Module, int], Draft]

# Tried in order; the first draft is taken.
FIXERS: dict[str, tuple[Fixer, ...]] = {
    "TW101": (seeding.reseeding_removed, seeding.python_random),
    "TW102": (seeding.reseeding_removed, seeding.numpy_random),
    "TW103": (given_seeds.generator,),
    "TW104": (seeding.tensorflow_random,),
    "TW105": (seeding.keras_random, given_seeds.layer),
    "TW106": (seeding.moved_up,),
    "TW108": (clock_and_entropy.constant,),
    "TW201": (given_seeds.shuffle,),
    "TW202": (determinism.in_order,),
    "TW203": (parallel_map.stateless,),
    "TW204": (host_random.in_map, host_random.in_generator),
    "TW205": (host_random.in_loader,),
    "TW301": (sorting.sorted_iteration,),
    "TW302": (sorting.sorted_listing,),
    "TW303": (clock_and_entropy.constant,),
    "TW401": (determinism.fixed_op,),
}


def first_fix(code: str, file: str, line: int, source: str, *, is_program: bool | None) -> Fix | None:
    """The first fix for a code at this line after which the source is another one and still parses."""
    module = parsed(source, is_program)
    if module is None:
        return None
    for fixer in FIXERS.get(code, ()):
        with suppress(Unsure):
            draft = fixer(module, line)
            fixed = edit.rewritten(module, draft.changes)
            if fixed != source and parses(fixed):
                return Fix(code, file, line, draft.note, draft.safe, source, fixed)
    return None
