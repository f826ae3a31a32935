"""Python and NumPy randomness inside `py_function`, `numpy_function` or a generator (TW204)."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from twinrun.findings.fixes.changes import (
    Changes,
    Draft,
    add_element,
    add_parameter,
    argument,
    at_the_top,
    lines_before,
)
from twinrun.findings.fixes.element_seeds import Mapped, mapped_functions, seed_name, seeds_passed_in
from twinrun.findings.fixes.functions import passed_function
from twinrun.findings.fixes.host_draws import draws_from, generator_made, own_generators, streams_drawn
from twinrun.findings.fixes.module import Function, Module, called_name
from twinrun.findings.fixes.seeding import SEED
from twinrun.knowledge import NUMPY, PYTHON, Kind, is_kind


@dataclass(frozen=True)
class HostCall:
    """A mapped function, the call in it that leaves TensorFlow, and the function that is called there."""

    mapped: Mapped
    call: cst.Call
    function: Function


def in_map(module: Module, line: int) -> Draft | None:
    """Pass a seed per element through the map into the host function, and draw from a generator of it."""
    seed = seed_name(module)
    here = [host for host in _host_calls(module) if _is_at(module, host, line)]
    rewritten = [changes for host in here if (changes := _seeded(module, host, seed))]
    if len(rewritten) != 1:
        return None
    note = "pass a seed per element into the function, and draw from a generator made of it"
    return Draft(rewritten[0], note, safe=True)


def in_generator(module: Module, line: int) -> Draft | None:
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
    return None


def _host_calls(module: Module) -> list[HostCall]:
    found = []
    for mapped in mapped_functions(module):
        for call in module.find(cst.Call, mapped.function):
            function = passed_function(module, argument(call, "func", 0))
            if (
                is_kind(module.name(call), Kind.HOST_CALL)
                and module.function(call) is mapped.function
                and function
            ):
                found.append(HostCall(mapped, call, function))
    return found


def _is_at(module: Module, host: HostCall, line: int) -> bool:
    statements = (module.statement(host.call), module.statement(host.mapped.call))
    return module.spans(host.function, line) or module.statement_at(line) in statements


def _seeded(module: Module, host: HostCall, seed: str) -> Changes | None:
    inputs = argument(host.call, "inp", 1)
    if not isinstance(inputs, cst.List | cst.Tuple) or not inputs.elements:
        return None
    passed = seeds_passed_in(module, host.mapped, seed)
    # py_function hands over tensors, which no generator takes as a seed; random.Random takes no NumPy integer.
    as_int = f"int({seed})"
    numpy_seed = seed if module.name(host.call) == "tensorflow.numpy_function" else as_int
    drawn = _drawn(module, host.function, {NUMPY: numpy_seed, PYTHON: as_int})
    if passed is None or not drawn:
        return None
    return (*passed, add_element(inputs, seed), add_parameter(host.function, seed), *drawn)


def _drawn(module: Module, function: Function, seeds: dict[str, str]) -> Changes | None:
    """The draws of a function, from a generator that it makes of its seed."""
    if isinstance(function, cst.FunctionDef):
        own = own_generators(module, function, seeds)
        lines = at_the_top(module, function, *own.lines) if own else None
        return (*lines, *own.changes) if own and lines else None
    # A lambda has no room for a statement: with a single draw the generator is made on the spot.
    streams = streams_drawn(module, function.body)
    made = generator_made(module, streams[0], seeds[streams[0]]) if len(streams) == 1 else None
    return draws_from(module, function.body, {streams[0]: made}) if made else None


def _own_generator(module: Module, function: cst.FunctionDef) -> Draft | None:
    own = own_generators(module, function, {NUMPY: str(SEED), PYTHON: str(SEED)})
    at_top = module.parent[function] is module.tree
    made = lines_before(module, function, *own.lines, blank=2 if at_top else 0) if own else None
    if own is None or made is None:
        return None
    note = "draw from a generator that nothing else draws from"
    return Draft((*made, *own.changes), note, safe=True)
