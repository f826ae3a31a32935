"""A generator object made without a seed (TW103): give it one where it is made."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Change, Changes, Draft, add_argument, seed_argument, unpacks
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEED
from twinrun.knowledge import Kind, known

_UNSEEDED = "tensorflow.random.Generator.from_non_deterministic_state"
# Functions that run once in a program, as far as their name can tell.
_ONCE = {"main", "__init__"}


def seeded(module: Module, line: int) -> Draft | None:
    """Give every unseeded generator that is made at this line a seed."""
    found = {call: changes for call in module.calls_at(line) if (changes := _seeded(module, call))}
    on_line = [call for call in found if module.name_line(call) == line] or list(found)
    if not on_line:
        return None
    again = next((reason for call in on_line if (reason := _made_again(module, call))), None)
    note = "give the generator a seed"
    if again:
        note += f"; {again}, so that it would start over each time: better make it once, outside"
    return Draft(tuple(change for call in on_line for change in found[call]), note, safe=again is None)


def _made_again(module: Module, call: cst.Call) -> str | None:
    """Why a call may be made more than once in a run; None when it is made once."""
    if module.in_loop(call):
        return "it is made in a loop"
    function = module.function(call)
    if isinstance(function, cst.Lambda):
        return "it is made in a lambda"
    if function is not None and function.name.value not in _ONCE:
        return f"it is made at every call of {function.name.value}()"
    return None


def _seeded(module: Module, call: cst.Call) -> Changes:
    name = module.name(call)
    maker = known(name)
    if maker is None or maker.kind is not Kind.GENERATOR or unpacks(call):
        return ()
    if name == _UNSEEDED:
        return (Change(call, _from_seed),)
    if maker.seed is None:
        return ()
    return seed_argument(call, maker.seed, str(SEED)) if call.args else (add_argument(call, str(SEED)),)


def _from_seed(call: cst.Call) -> cst.Call:
    func = cst.ensure_type(call.func, cst.Attribute).with_changes(attr=cst.Name("from_seed"))
    return call.with_changes(func=func, args=[cst.Arg(cst.Integer(str(SEED))), *call.args])
