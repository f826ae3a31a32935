"""A generator whose seed is None where it is made (TW103), because the function that makes it, or the object that
has it, was given none. It is given one where it is called."""

from __future__ import annotations

from typing import Any

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes, Draft, argument, is_name
from twinrun.findings.fixes.module import Module, require, sure
from twinrun.knowledge.functions import Argument, Kind

_SELF = ("self", "cls")
_MOST_STEPS = 4  # from the generator back to where the seed is missing


def given_where_missing(module: Module, line: int) -> Draft:
    """For the only generator of this line."""
    makers = [call for call in module.calls_at(line) if module.is_kind(call, Kind.GENERATOR)]
    require(len(makers) == 1)
    seed = sure(sure(module.known(makers[0])).seed)
    return _traced(module, sure(argument(makers[0], seed.name, seed.position)))


def _traced(module: Module, given: Any, most: int = _MOST_STEPS) -> Draft:
    """From what is given as seed back to where it is None."""
    require(most and isinstance(given, cst.Name | cst.Attribute))
    function = module.function(given)
    if isinstance(given, cst.Name) and isinstance(function, cst.FunctionDef):
        parameter = _parameter(function, given.value)
        if parameter is not None:
            require(all(not module.inside(each, function) for each in module.assigned_to(given)))
            return _passed(module, function, parameter, most)
    assigned = module.assigned_to(given)
    if isinstance(given, cst.Attribute) and not assigned:
        assigned = _defaults_of_field(module, given.attr.value)
    require(len(assigned) == 1)
    if is_name(assigned[0], "None"):
        seed = edit.replace(assigned[0], module.seed(assigned[0]))
        return Draft((seed,), "give the generator a seed", safe=True)
    return _traced(module, assigned[0], most - 1)


def _defaults_of_field(module: Module, name: str) -> list[cst.BaseExpression]:
    """`seed: int | None = None` in the body of a class, such as a dataclass."""
    return [
        node.value
        for node in module.find(cst.AnnAssign)
        if node.value is not None
        and is_name(node.target, name)
        and isinstance(module.owner(module.parent[node]), cst.ClassDef)
    ]


def _parameter(function: cst.FunctionDef, name: str) -> cst.Param | None:
    every = (*function.params.params, *function.params.kwonly_params)
    return next((each for each in every if each.name.value == name and is_name(each.default, "None")), None)


def _passed(module: Module, function: cst.FunctionDef, parameter: cst.Param, most: int) -> Draft:
    """The calls that leave the seed out get one each, every call another; without any in this module, it is the default."""
    name = parameter.name.value
    places = [each.name.value for each in function.params.params if each.name.value not in _SELF]
    where = Argument(places.index(name) if name in places else None, name)
    calls = _calls(module, function)
    if not calls:
        default = edit.replace(sure(parameter.default), module.seed(parameter))
        note = f"give {name} a default; calls that leave it out draw the same numbers"
        return Draft((default,), note, safe=False)
    changes: Changes = ()
    again = False
    for number, call in enumerate(calls):
        changes += edit.seed_argument(module, call, where, number)
        again = again or module.in_loop(call) or not _is_made_once(module, call)
    if not changes:
        require(len(calls) == 1)
        return _traced(module, sure(argument(calls[0], where.name, where.position)), most - 1)
    note = f"pass {name}= where it is called"
    if again:
        note += "; that is done several times, each with the same numbers: better make it once, outside"
    return Draft(changes, note, safe=not again)


def _is_made_once(module: Module, call: cst.Call) -> bool:
    function = module.function(call)
    return function is None or module.runs_once(function)


def _calls(module: Module, function: cst.FunctionDef) -> list[cst.Call]:
    """The calls of a function or class at the top of the module, by its name."""
    called: Any = module.owner(function) if function.name.value == "__init__" else function
    if not isinstance(called, cst.FunctionDef | cst.ClassDef) or module.owner(called) is not module.tree:
        return []
    return [call for call in module.find(cst.Call) if is_name(call.func, called.name.value)]
