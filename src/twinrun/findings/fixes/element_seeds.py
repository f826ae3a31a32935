"""A seed for every element of a dataset: zipped to the elements, and passed to the mapped function.

The seeds come from `Dataset.random(seed, rerandomize_each_iteration=True)`: drawn in order, so that parallel
calls cannot race for them, and drawn anew in every epoch. A counter would repeat itself in each epoch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from twinrun.findings.fixes.arguments import argument
from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.functions import add_parameter, parameters, passed_function
from twinrun.findings.fixes.module import Function, Module
from twinrun.findings.fixes.seeding import SEED


@dataclass(frozen=True)
class Mapped:
    """A call of `Dataset.map`, what it is given, the function that is, and which map of the file this is."""

    call: ast.Call
    reference: ast.expr
    function: Function | ast.Lambda
    number: int


def mapped_functions(module: Module) -> list[Mapped]:
    """Every map in the module whose function can be seen."""
    found: list[Mapped] = []
    for call in module.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "map":
            reference = argument(call, "map_func", 0)
            function = passed_function(module, reference) if reference is not None else None
            if reference is not None and function is not None:
                found.append(Mapped(call, reference, function, len(found)))
    return found


def tensorflow_name(module: Module, user: ast.AST) -> str | None:
    """What TensorFlow is called at this place."""
    for each in module.names.given_by("tensorflow"):
        scope = module.function(each.node)
        if scope is None or module.inside(user, scope):
            return each.local
    return None


def seed_name(module: Module) -> str:
    return module.names.free("seed", "element_seed")


def seeds_passed_in(module: Module, mapped: Mapped, seed: str) -> list[Edit] | None:
    """Edits after which the mapped function gets a seed as its last argument; None when unsure."""
    tensorflow = tensorflow_name(module, mapped.call)
    plain = parameters(module, mapped.function)
    statement = module.statement(mapped.call)
    if (
        tensorflow is None
        or plain is None
        or statement is None
        or module.function(mapped.call) is not module.function(statement)
    ):
        return None
    if len(plain) == 1 and _elements_are_one_tuples(mapped.call):
        return None
    seeds = module.names.free("seeds", "element_seeds")
    arguments = f"seed={SEED + mapped.number}, rerandomize_each_iteration=True"
    line = f"{seeds} = {tensorflow}.data.Dataset.random({arguments})"
    added = module.insert_line_before(statement, line)
    function = _function_edits(module, mapped, plain, seed)
    if added is None or function is None or module.in_loop(mapped.call):
        return None
    return [added, *_zipped(module, mapped.call, f"{tensorflow}.data.Dataset.zip", seeds), *function]


def _zipped(module: Module, call: ast.Call, zip_name: str, seeds: str) -> list[Edit]:
    """Zip the seeds to what `map` is called on."""
    assert isinstance(call.func, ast.Attribute)
    receiver = call.func.value
    dot = module.source.rindex(".", module.end(receiver), module.end(call.func))
    if receiver.lineno == receiver.end_lineno == module.name_line(call):
        return list(module.wrap(receiver, f"{zip_name}((", f", {seeds}))"))
    # A chain over several lines: one more link in it.
    inserted = f".apply(lambda ds: {zip_name}((ds, {seeds})))"
    line = module.line_text(module.name_line(call))
    if line.lstrip().startswith("."):
        inserted += f"{module.newline}{line[: len(line) - len(line.lstrip())]}"
    return [Edit(dot, dot, inserted)]


def _function_edits(module: Module, mapped: Mapped, plain: list[ast.arg], seed: str) -> list[Edit] | None:
    """The new parameter, and the way the map hands the element and its seed over."""
    if len(plain) > 1 and isinstance(mapped.function, ast.Lambda) and mapped.reference is mapped.function:
        return _unpacked_lambda(module, mapped.function, plain, seed)
    added = add_parameter(module, mapped.function, seed)
    if added is None:
        return None
    if len(plain) == 1:
        return [added]
    element = module.names.free("element")
    called = module.text(mapped.reference)
    return [
        added,
        module.replace(mapped.reference, f"lambda {element}, {seed}: {called}(*{element}, {seed})"),
    ]


def _unpacked_lambda(
    module: Module, function: ast.Lambda, plain: list[ast.arg], seed: str
) -> list[Edit] | None:
    """`lambda x, y: …` becomes `lambda element, seed: …` with `element[0]` for x and `element[1]` for y."""
    element = module.names.free("element")
    position = {arg.arg: number for number, arg in enumerate(plain)}
    edits = [Edit(module.start(plain[0]), module.end(plain[-1]), f"{element}, {seed}")]
    for node in ast.walk(function.body):
        if isinstance(node, ast.arg) and node.arg in position:
            return None
        if isinstance(node, ast.Name) and node.id in position:
            if not isinstance(node.ctx, ast.Load) or any(
                isinstance(a, ast.JoinedStr) for a in module.ancestors(node)
            ):
                return None
            edits.append(module.replace(node, f"{element}[{position[node.id]}]"))
    return edits


def _elements_are_one_tuples(call: ast.Call) -> bool:
    """`from_tensor_slices((x,))`: map unpacks the one-tuple, and would no longer after the zip."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("from_tensor_slices", "from_tensors", "zip")
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Tuple)
        and len(node.args[0].elts) == 1
        for node in ast.walk(call.func)
    )
