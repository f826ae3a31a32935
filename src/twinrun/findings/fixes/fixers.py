"""Which fixers there are for which code. Everything from here on imports libcst."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import libcst as cst

from twinrun.findings.fixes import (
    clock_and_entropy,
    determinism,
    edit,
    environments,
    given_seeds,
    host_random,
    made_once,
    parallel_map,
    passed_seeds,
    seeding,
    sorting,
)
from twinrun.findings.fixes.edit import Draft
from twinrun.findings.fixes.fix import Fix, parses
from twinrun.findings.fixes.imports import with_seed_constant
from twinrun.findings.fixes.module import Module, Unsure, parsed
from twinrun.knowledge.functions import Kind, root

Fixer = Callable[[Module, int], Draft]

# Tried in order; the first draft is taken.
FIXERS: dict[str, tuple[Fixer, ...]] = {
    "TW101": (seeding.reseeding_removed, seeding.python_random),
    "TW102": (seeding.reseeding_removed, seeding.numpy_random, given_seeds.library),
    "TW103": (
        made_once.generator_made_once,
        given_seeds.generator,
        passed_seeds.given_where_missing,
        given_seeds.made_with_seed,
        given_seeds.seeded_transform,
        environments.seeded_environment,
    ),
    "TW104": (seeding.tensorflow_random,),
    "TW105": (seeding.keras_random, given_seeds.layer),
    "TW106": (seeding.moved_up,),
    "TW108": (clock_and_entropy.constant, clock_and_entropy.drawn),
    "TW201": (given_seeds.shuffle, seeding.shuffle_of_fit),
    "TW202": (determinism.in_order,),
    "TW203": (parallel_map.stateless, parallel_map.one_at_a_time),
    "TW204": (host_random.in_map, host_random.in_generator, parallel_map.one_at_a_time),
    "TW205": (host_random.in_loader,),
    "TW301": (sorting.sorted_iteration,),
    "TW302": (sorting.sorted_listing,),
    "TW303": (clock_and_entropy.constant,),
    "TW401": (determinism.fixed_op,),
}
# With an import of its own, in a program that imports nothing of the kind.
_ANYWAY: dict[str, Fixer] = {
    "TW101": partial(seeding.python_random, anyway=True),
    "TW102": partial(seeding.numpy_random, anyway=True),
    "TW104": partial(seeding.tensorflow_random, anyway=True),
    "TW105": partial(seeding.keras_random, anyway=True),
}


def first_fix(
    code: str, file: str, line: int, source: str, *, is_program: bool | None, seed: int | None = None
) -> Fix | None:
    """The first fix for a code at this line after which the source is another one and still parses."""
    module = parsed(source, is_program, seed)
    return None if module is None else _first(FIXERS.get(code, ()), module, code, file, line)


def _first(fixers: Iterable[Fixer], module: Module, code: str, file: str, line: int) -> Fix | None:
    source = module.tree.code
    for fixer in fixers:
        with suppress(Unsure):
            written = module.seeds_written
            draft = fixer(module, line)
            fixed = edit.rewritten(module, draft.changes)
            if fixed != source and parses(fixed):
                seeds = module.seeds_written - written
                return Fix(code, file, line, draft.note, draft.safe, source, fixed, seeds)
    return None


def seeded_program(
    code: str, program: tuple[str, str], drawn: tuple[str, int, str], seed: int | None
) -> Fix | None:
    """A seed in the program for what is drawn in a module of its own: `drawn` is that module's file, line and text."""
    name, text = program
    module = parsed(text, True, seed)
    if module is None:
        return None
    imported = _line_of_import(module, name, drawn[0]) if _at_import(drawn) else None
    line = imported or text.count("\n") + 1
    found = _first((*FIXERS[code], _ANYWAY[code]), module, code, name, line)
    if found is None and imported is not None:
        # Nothing stands above the import: the drawing module seeds itself.
        found = first_fix(code, *drawn, is_program=True, seed=seed)
    return found


def _at_import(drawn: tuple[str, int, str]) -> bool:
    """Whether a line runs when its module is imported: the seed must be set before that."""
    module = parsed(drawn[2], None)
    statement = module.statement_at(drawn[1]) if module is not None else None
    return module is not None and statement is not None and module.function(statement) is None


def _line_of_import(module: Module, program: str, drawn: str) -> int | None:
    """The first line of the program that imports the drawing module, or another module of the program's own."""
    home = Path(program).resolve().parent
    own = {Path(drawn).stem, Path(drawn).resolve().parent.name}
    lines = [module.first_line(node) for node in module.find(cst.ImportFrom) if node.relative]
    for each in module.imports:
        name = root(each.dotted)
        if name in own or (home / f"{name}.py").exists() or (home / name / "__init__.py").exists():
            lines.append(module.first_line(each.statement))
    return min(lines, default=None)


def with_constant(source: str, seed: int) -> str | None:
    """The source with a constant for the seed after its imports; None where there is no good place for it."""
    module = parsed(source, True, seed)
    if module is None or module.seed_constant is not None:
        return None
    with suppress(Unsure):
        return edit.rewritten(module, with_seed_constant(module))
    return None


def seed_number(source: str, seed: int | None) -> int | None:
    """The number that the program's own seeds have, or the one that was asked for."""
    module = parsed(source, True, seed)
    return seed if module is None else module.seed_number


def streams_seeded(source: str) -> set[str]:
    """The global streams that a program seeds somewhere."""
    module = parsed(source, None)
    if module is None:
        return set()
    seeders = (module.known(call) for call in module.calls(Kind.SEED))
    return {stream for seeder in seeders if seeder is not None for stream in seeder.streams}
