"""Keras layers and initialisers without a seed (TW105), where the program itself cannot be seeded."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Change, Draft, seed_argument
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import KERAS, SEED
from twinrun.knowledge import Argument, Kind, known


def seeded(module: Module, line: int) -> Draft | None:
    """Give the unseeded layers and initialisers of this line a seed, each another one."""
    if module.calls(KERAS):
        return None
    calls = [call for call in module.find(cst.Call) if _seed(module, call) is not None]
    changes: list[Change] = []
    for number, call in enumerate(calls):
        seed = _seed(module, call)
        if seed is not None and module.name_line(call) == line:
            changes += seed_argument(call, seed, str(SEED + number))
    note = "give the layer a seed; or call keras.utils.set_random_seed in the program before it is built"
    return Draft(tuple(changes), note, safe=False) if changes else None


def _seed(module: Module, call: cst.Call) -> Argument | None:
    found = known(module.name(call))
    return found.seed if found is not None and found.kind in (Kind.LAYER, Kind.INITIALIZER) else None
