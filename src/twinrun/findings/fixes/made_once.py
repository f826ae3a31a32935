"""A generator that is made again and again without a seed (TW103): made once with one, where it is made first.

With a seed alone it would draw the same numbers each time.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Changes, Draft
from twinrun.findings.fixes.module import LOOPS, Module, only_statement, require, sure
from twinrun.knowledge.functions import Kind


def generator_made_once(module: Module, line: int) -> Draft:
    """The generator of this line, made above the outermost loop or function that makes it again."""
    made = [call for call in module.calls_at(line) if module.is_kind(call, Kind.GENERATOR) and not call.args]
    require(len(made) == 1)  # with arguments it might not be the same elsewhere
    call = made[0]
    place = sure(_outermost(module, call))
    statement: Any = sure(module.statement(call))
    small: Any = only_statement(statement)
    maker = module.code(call.func).replace(".from_non_deterministic_state", ".from_seed")
    code = f"{maker}({module.seed(place)})"
    top = isinstance(place, cst.FunctionDef | cst.ClassDef) and module.parent[place] is module.tree
    note = "make the generator once, with a seed"
    block: Any = module.parent[statement]
    if _only_use_is_here(module, small, call) and len(block.body) > 1:
        comment = statement.trailing_whitespace.comment
        text = f"{module.code(small.targets[0].target)} = {code}" + (f"  {comment.value}" if comment else "")
        changes: Changes = _gone(statement)
    else:
        name = module.free("rng", "generator")
        text = f"{name} = {code}"
        changes = (edit.replace(call, name),)
    made_above = edit.lines_before(module, place, text, blank=2 if top else 0)
    return Draft((*made_above, *changes), note, safe=True)


def _gone(statement: Any) -> Changes:
    require(not any(line.comment for line in statement.leading_lines))
    return (Change(statement, lambda _: cst.RemovalSentinel.REMOVE),)


def _outermost(module: Module, call: cst.Call) -> Any | None:
    """The outermost loop, function or class above which the generator is made once; None where it is made once now."""
    around = [
        each for each in module.ancestors(call) if isinstance(each, (*LOOPS, cst.FunctionDef, cst.Lambda))
    ]
    again = [each for each in around if isinstance(each, LOOPS) or not module.runs_once(each)]
    if not again:
        return None
    place: Any = again[-1]
    if not isinstance(place, cst.For | cst.While | cst.FunctionDef):
        place = module.statement(place)
    owner = module.owner(place)
    if isinstance(owner, cst.ClassDef):  # a method
        place = owner
    return place


def _only_use_is_here(module: Module, small: Any, call: cst.Call) -> bool:
    """`rng = default_rng()`, and nothing else in the module is assigned to that name."""
    if not isinstance(small, cst.Assign) or small.value is not call or len(small.targets) != 1:
        return False
    target = small.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    bound = [each for each in module.find(cst.Name) if each.value == target.value and _is_bound(module, each)]
    here = module.function(call)
    # Other functions may have a variable of that name; the module may not, and this function only this one.
    return all(each is target or module.function(each) not in (None, here) for each in bound)


def _is_bound(module: Module, node: cst.Name) -> bool:
    return isinstance(
        module.parent[node], cst.AssignTarget | cst.Param | cst.For | cst.CompFor | cst.NamedExpr
    )
