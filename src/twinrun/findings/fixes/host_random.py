"""Python and NumPy randomness inside `py_function`, `numpy_function` or a generator (TW204)."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from twinrun.findings.fixes.arguments import argument
from twinrun.findings.fixes.element_seeds import Mapped, mapped_functions, seed_name, seeds_passed_in
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.functions import add_parameter, at_the_top, passed_function
from twinrun.findings.fixes.host_draws import (
    draws_from,
    numpy_random_name,
    own_generators,
    python_random_name,
)
from twinrun.findings.fixes.module import Function, Module
from twinrun.findings.fixes.seeding import SEED

HOST_CALLS = {"tensorflow.numpy_function", "tensorflow.py_function", "tensorflow.compat.v1.py_func"}


@dataclass(frozen=True)
class HostCall:
    """A mapped function, the call in it that leaves TensorFlow, and the function that is called there."""

    mapped: Mapped
    call: ast.Call
    function: Function | ast.Lambda


def in_map(module: Module, line: int) -> Draft | None:
    """Pass a seed per element through the map into the host function, and draw from a generator of it."""
    seed = seed_name(module)
    statement = module.statement_at(line)
    here = [host for host in _host_calls(module) if _is_at(module, host, line, statement)]
    rewritten = [edits for host in here if (edits := _seeded(module, host, seed))]
    if len(rewritten) != 1:
        return None
    note = "pass a seed per element into the function, and draw from a generator made of it"
    return Draft(tuple(rewritten[0]), note, safe=True)


def in_generator(module: Module, line: int) -> Draft | None:
    """A generator object of its own for the function that `Dataset.from_generator` runs."""
    for call in module.calls():
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "from_generator"):
            continue
        function = _generator_function(module, argument(call, "generator", 0))
        if not isinstance(function, ast.FunctionDef):
            continue
        in_function = function.lineno <= line <= (function.end_lineno or function.lineno)
        if in_function or module.statement(call) is module.statement_at(line):
            return _own_generator(module, function)
    return None


def _host_calls(module: Module) -> list[HostCall]:
    found = []
    for mapped in mapped_functions(module):
        for call in module.calls(mapped.function):
            reference = argument(call, "func", 0)
            if module.names.called(call) in HOST_CALLS and reference is not None:
                function = passed_function(module, reference)
                if function is not None and module.function(call) is mapped.function:
                    found.append(HostCall(mapped, call, function))
    return found


def _is_at(module: Module, host: HostCall, line: int, statement: ast.stmt | None) -> bool:
    in_host = host.function.lineno <= line <= (host.function.end_lineno or 0)
    return in_host or statement in (module.statement(host.call), module.statement(host.mapped.call))


def _seeded(module: Module, host: HostCall, seed: str) -> list[Edit] | None:
    inputs = argument(host.call, "inp", 1)
    if not isinstance(inputs, ast.List | ast.Tuple) or not inputs.elts:
        return None
    passed = seeds_passed_in(module, host.mapped, seed)
    drawn = _host_function(module, host, seed)
    if passed is None or drawn is None:
        return None
    end = module.end(inputs.elts[-1])
    return [*passed, Edit(end, end, f", {seed}"), *drawn]


def _host_function(module: Module, host: HostCall, seed: str) -> list[Edit] | None:
    """The host function with one more parameter, drawing from a generator that it makes of it."""
    function = host.function
    # py_function hands over tensors, which no generator takes as a seed.
    value = seed if module.names.called(host.call) == "tensorflow.numpy_function" else f"int({seed})"
    added = add_parameter(module, function, seed)
    if isinstance(function, ast.Lambda):
        return _host_lambda(module, function, added, value)
    own = own_generators(module, function, value, f"int({seed})")
    tops = [at_the_top(module, function, line) for line in own.lines] if own else []
    if own is None or added is None or any(top is None for top in tops):
        return None
    return [added, *(top for top in tops if top is not None), *own.edits]


def _host_lambda(module: Module, function: ast.Lambda, added: Edit | None, value: str) -> list[Edit] | None:
    """A lambda has no room for a statement: with a single draw the generator is made on the spot."""
    numpy, python = numpy_random_name(module), python_random_name(module)
    draws = draws_from(
        module, function.body, f"{numpy}.default_rng({value})", f"{python}.Random(int({value}))"
    )
    if draws is None or added is None or draws.numpy + draws.python != 1:
        return None
    if (draws.numpy and numpy is None) or (draws.python and python is None):
        return None
    return [added, *draws.edits]


def _generator_function(module: Module, reference: ast.expr | None) -> Function | ast.Lambda | None:
    """The generator function; a lambda that only calls one stands for it."""
    if isinstance(reference, ast.Lambda) and isinstance(reference.body, ast.Call):
        reference = reference.body.func
    return passed_function(module, reference) if isinstance(reference, ast.Name) else None


def _own_generator(module: Module, function: ast.FunctionDef) -> Draft | None:
    own = own_generators(module, function, str(SEED), str(SEED))
    gap = module.newline * 2 if function.col_offset == 0 else ""  # as between functions
    text = module.newline.join(own.lines) if own else ""
    made = module.insert_line_before(function, f"{text}{gap}")
    if own is None or made is None or (len(own.lines) > 1 and not gap):
        return None
    return Draft((made, *own.edits), "draw from a generator that nothing else draws from", safe=True)
