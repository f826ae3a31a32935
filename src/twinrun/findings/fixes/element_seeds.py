"""A seed for every element of a dataset: zipped to the elements, and passed to the mapped function.

The seeds come from `Dataset.random(seed, rerandomize_each_iteration=True)`: drawn in order, so that parallel
calls cannot race for them, and drawn again in every epoch. A counter would repeat itself in each epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst
from libcst.helpers import parse_template_expression
from libcst.metadata import Assignment

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Changes, argument, is_name
from twinrun.findings.fixes.module import Function, Module, called_name, require, sure


@dataclass(frozen=True)
class Mapped:
    """A call of `Dataset.map`, what it is given, the function that is, and which map of the file this is."""

    call: cst.Call
    reference: cst.BaseExpression
    function: Function
    number: int


def mapped_functions(module: Module) -> list[Mapped]:
    """Every map in the module whose function can be seen."""
    found: list[Mapped] = []
    for call in module.find(cst.Call):
        if isinstance(call.func, cst.Attribute) and called_name(call) == "map":
            reference = argument(call, "map_func", 0)
            function = passed_function(module, reference)
            if reference is not None and function is not None:
                found.append(Mapped(call, reference, function, len(found)))
    return found


def seed_name(module: Module) -> str:
    return module.free("seed", "element_seed")


def seeds_passed_in(module: Module, mapped: Mapped, seed: str) -> Changes:
    """Changes after which the mapped function gets a seed as its last argument."""
    call = mapped.call
    dataset = sure(module.spelled("tensorflow.data.Dataset", call)).text
    plain = parameters(module, mapped.function)
    statement = sure(module.statement(call))
    require(not module.in_loop(call) and module.function(call) is module.function(statement))
    require(len(plain) > 1 or not _elements_are_one_tuples(module, call))
    seeds = module.free("seeds", "element_seeds")
    arguments = f"seed={module.seed(statement, mapped.number)}, rerandomize_each_iteration=True"
    made = edit.lines_before(module, statement, f"{seeds} = {dataset}.random({arguments})")
    zipped = _zipped(module, call, f"{dataset}.zip", seeds)
    return (*made, zipped, *_passed(module, mapped, plain, seed))


def _zipped(module: Module, call: cst.Call, zip_name: str, seeds: str) -> Change:
    """Zip the seeds to what `map` is called on."""
    method = cst.ensure_type(call.func, cst.Attribute)
    if module.first_line(method) == module.last_line(method):
        return edit.wrap(method.value, zip_name + "(({it}, " + seeds + "))")
    link = f".apply(lambda ds: {zip_name}((ds, {seeds})))"

    def one_more_link(updated: cst.Attribute) -> cst.Attribute:
        """A chain over several lines gets one more link, on a line of its own."""
        call = cst.ensure_type(parse_template_expression("{it}" + link, it=updated.value), cst.Call)
        added = call.with_changes(func=call.func.with_changes(dot=updated.dot))
        space = updated.dot.whitespace_before
        if isinstance(space, cst.ParenthesizedWhitespace):  # comments stay where they are
            space = space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
        return updated.with_changes(value=added, dot=updated.dot.with_changes(whitespace_before=space))

    return Change(method, one_more_link)


def _passed(module: Module, mapped: Mapped, plain: list[str], seed: str) -> Changes:
    """The new parameter, and the way the map hands the element and its seed over."""
    function = mapped.function
    if len(plain) > 1 and isinstance(function, cst.Lambda) and mapped.reference is function:
        return _unpacked_lambda(module, function, plain, seed)
    added = edit.add_parameter(function, seed)
    if len(plain) == 1:
        return (added,)
    element = module.free("element")
    return added, edit.wrap(mapped.reference, f"lambda {element}, {seed}: {{it}}(*{element}, {seed})")


def _unpacked_lambda(module: Module, function: cst.Lambda, plain: list[str], seed: str) -> Changes:
    """`lambda x, y: …` becomes `lambda element, seed: …` with `element[0]` for x and `element[1]` for y."""
    element = module.free("element")
    new = cst.Parameters([cst.Param(cst.Name(element)), cst.Param(cst.Name(seed))])
    changes = [Change(function.params, lambda _: new)]
    for node in module.find(cst.Name, function.body):
        if node.value in plain and not module.is_label(node):
            require(not isinstance(module.parent[node], cst.Param | cst.NamedExpr))
            changes.append(edit.replace(node, f"{element}[{plain.index(node.value)}]"))
    return tuple(changes)


def _elements_are_one_tuples(module: Module, call: cst.Call) -> bool:
    """`from_tensor_slices((x,))`: map unpacks the one-tuple, and would no longer after the zip."""
    makers = [
        each
        for each in module.find(cst.Call, call.func)
        if called_name(each) in ("from_tensor_slices", "from_tensors", "zip") and len(each.args) == 1
    ]
    given = [each.args[0].value for each in makers]
    return any(isinstance(each, cst.Tuple) and len(each.elements) == 1 for each in given)


# -- functions that are passed to something ------------------------------------------------------------


def passed_function(module: Module, reference: cst.BaseExpression | None) -> Function | None:
    """The function that an argument stands for, when the module defines it once and uses it only here."""
    found: Function | None = None
    if isinstance(reference, cst.Lambda):
        return reference
    if isinstance(reference, cst.Name):
        found = _named(module, reference)
    elif isinstance(reference, cst.Attribute):
        found = _method(module, reference)
    # A decorator may care about the parameters.
    decorators = {module.name(each.decorator) for each in getattr(found, "decorators", ())}
    plain = getattr(found, "asynchronous", None) is None
    return found if plain and decorators <= {"tensorflow.function", "builtins.staticmethod"} else None


def parameters(module: Module, function: Function) -> list[str]:
    """The parameters, without `self`, of a function that has none with defaults, `*args` or keyword-only ones."""
    given = function.params
    require(not (given.kwonly_params or given.posonly_params or given.star_kwarg))
    require(not isinstance(given.star_arg, cst.Param) and not any(each.default for each in given.params))
    plain = [each.name.value for each in given.params]
    decorators = [each.decorator for each in getattr(function, "decorators", ())]
    is_static = any(is_name(each, "staticmethod") for each in decorators)
    plain = plain[1:] if isinstance(module.owner(function), cst.ClassDef) and not is_static else plain
    require(plain)
    return plain


def _named(module: Module, reference: cst.Name) -> Function | None:
    assignments = list(module.scope(reference)[reference.value])
    if len(assignments) != 1 or len(assignments[0].references) != 1:
        return None
    node = assignments[0].node if isinstance(assignments[0], Assignment) else None
    values = [node] if node is None or isinstance(node, cst.FunctionDef) else module.assigned_to(node)
    return values[0] if len(values) == 1 and isinstance(values[0], cst.FunctionDef | cst.Lambda) else None


def _method(module: Module, reference: cst.Attribute) -> cst.FunctionDef | None:
    owner = module.outer(reference, cst.ClassDef)
    if owner is None or not is_name(reference.value, "self", "cls", owner.name.value):
        return None
    name = reference.attr.value
    found = [node for node in module.find(cst.FunctionDef) if node.name.value == name]
    uses = [node for node in module.find(cst.Attribute) if node.attr.value == name]
    return found[0] if len(found) == len(uses) == 1 and module.owner(found[0]) is owner else None
