"""A generator object made without a seed (TW103): give it one where it is made."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import is_none, unpacks
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEED

# What is called, and the name of its seed argument, which is the first.
MAKERS = {
    "numpy.random.default_rng": "seed",
    "numpy.random.RandomState": "seed",
    "numpy.random.SeedSequence": "entropy",
    "numpy.random.PCG64": "seed",
    "numpy.random.PCG64DXSM": "seed",
    "numpy.random.MT19937": "seed",
    "numpy.random.Philox": "seed",
    "numpy.random.SFC64": "seed",
    "random.Random": "x",
    "keras.random.SeedGenerator": "seed",
}
UNSEEDABLE = "tensorflow.random.Generator.from_non_deterministic_state"
# Functions that run once in a program, as far as their name can tell.
_ONCE = {"main", "__init__"}


def seeded(module: Module, line: int) -> Draft | None:
    """Give every unseeded generator that is made at this line a seed."""
    makers = [call for call in module.calls_at(line) if _edits(module, call)]
    on_line = [call for call in makers if module.name_line(call) == line]
    edits = [edit for call in on_line or makers for edit in _edits(module, call)]
    if not edits:
        return None
    again = next((reason for call in on_line or makers if (reason := made_again(module, call))), None)
    note = "give the generator a seed"
    if again:
        note += f"; {again}, so that it would start over each time: better make it once, outside"
    return Draft(tuple(edits), note, safe=again is None)


def made_again(module: Module, call: ast.Call) -> str | None:
    """Why a call may be made more than once in a run; None when it is made once."""
    if module.in_loop(call):
        return "it is made in a loop"
    function = module.function(call)
    if isinstance(function, ast.Lambda):
        return "it is made in a lambda"
    if function is not None and function.name not in _ONCE:
        return f"it is made at every call of {function.name}()"
    return None


def _edits(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    name = module.names.called(call)
    if unpacks(call):
        return ()
    if name == UNSEEDABLE and isinstance(call.func, ast.Attribute):
        start = module.end(call.func) - len(call.func.attr)
        inside = f"from_seed({SEED}, " if call.args or call.keywords else f"from_seed({SEED}"
        opening = module.source.index("(", module.end(call.func)) + 1
        return (Edit(start, opening, inside),)
    if name not in MAKERS:
        return ()
    if not call.args and not call.keywords:
        opening = module.source.index("(", module.end(call.func)) + 1
        return (Edit(opening, opening, str(SEED)),)
    given = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == MAKERS[name]), None)
    )
    return (module.replace(given, str(SEED)),) if given is not None and is_none(given) else ()
