"""Python and NumPy randomness inside `py_function`, `numpy_function` or a generator (TW204)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import libcst as cst

from twinrun.findings.fixes.changes import (
    SEED,
    Changes,
    Draft,
    add_element,
    add_parameter,
    argument,
    at_the_top,
    lines_before,
    the_only,
)
from twinrun.findings.fixes.element_seeds import Mapped, mapped_functions, seed_name, seeds_passed_in
from twinrun.findings.fixes.functions import passed_function
from twinrun.findings.fixes.host_draws import draws_from, generator_made, own_generators, streams_drawn
from twinrun.findings.fixes.module import Function, Module, Unsure, called_name, require
from twinrun.knowledge.functions import NUMPY, PYTHON, Kind, is_kind


@dataclass(frozen=True)
class HostCall:
    """A mapped function, the call in it that leaves TensorFlow, and the function that is called there."""

    mapped: Mapped
    call: cst.Call
    function: Function


def in_map(module: Module, line: int) -> Draft:
    """Pass a seed per element through the map into the host function, and draw from a generator of it."""
    here = [host for host in _host_calls(module) if _is_at(module, host, line)]
    note = "pass a seed per element into the function, and draw from a generator made of it"
    return Draft(the_only(partial(_seeded, module), here), note, safe=True)


def in_generator(module: Module, line: int) -> Draft:
    """A generator object of its own for the function that `Dataset.from_generator` runs."""
    for call in module.find(cst.Call):
        if not isinstance(call.func, cst.Attribute) or called_name(call) != "from_generator":
            continue
        reference = argument(call, "generator", 0)
        if isinstance(reference, cst.Lambda) and isinstance(reference.body, cst.Call):
            reference = reference.body.func  # a lambda that only calls the function stands for it
        function = passed_function(module, reference) if isinstance(reference, cst.Name) else None
        if not isinstance(function, cst.FunctionDef):
            continue
        if module.spans(function, line) or module.statement(call) is module.statement_at(line):
            return _own_generator(module, function)
    raise Unsure


def _host_calls(module: Module) -> list[HostCall]:
    found = []
    for mapped in mapped_functions(module):
        for call in module.find(cst.Call, mapped.function):
            if not is_kind(module.name(call), Kind.HOST_CALL):
                continue
            function = passed_function(module, argument(call, "func", 0))
            if function is not None and module.function(call) is mapped.function:
                found.append(HostCall(mapped, call, function))
    return found


def _is_at(module: Module, host: HostCall, line: int) -> bool:
    statements = (module.statement(host.call), module.statement(host.mapped.call))
    return module.spans(host.function, line) or module.statement_at(line) in statements


def _seeded(module: Module, host: HostCall) -> Changes:
    seed = seed_name(module)
    inputs = argument(host.call, "inp", 1)
    if not isinstance(inputs, cst.List | cst.Tuple) or not inputs.elements:
        raise Unsure
    # py_function hands over tensors, which no generator takes as a seed; random.Random takes no NumPy integer.
    is_array = module.name(host.call) == "tensorflow.numpy_function"
    seeds = {NUMPY: seed if is_array else f"int({seed})", PYTHON: f"int({seed})"}
    passed = seeds_passed_in(module, host.mapped, seed)
    added = (add_element(inputs, seed), add_parameter(host.function, seed))
    return (*passed, *added, *_drawn(module, host.function, seeds))


def _drawn(module: Module, function: Function, seeds: dict[str, str]) -> Changes:
    """The draws of a function, from a generator that it makes of its seed."""
    if isinstance(function, cst.FunctionDef):
        lines, draws = own_generators(module, function, seeds)
        return (*at_the_top(module, function, *lines), *draws)
    # A lambda has no room for a statement: with a single draw the generator is made on the spot.
    streams = streams_drawn(module, function.body)
    require(len(streams) == 1)
    generator = generator_made(module, streams[0], seeds[streams[0]])
    return draws_from(module, function.body, {streams[0]: generator})


def _own_generator(module: Module, function: cst.FunctionDef) -> Draft:
    lines, draws = own_generators(module, function, {NUMPY: str(SEED), PYTHON: str(SEED)})
    blank = 2 if module.parent[function] is module.tree else 0
    changes = lines_before(module, function, *lines, blank=blank) + draws
    return Draft(changes, "draw from a generator that nothing else draws from", safe=True)
