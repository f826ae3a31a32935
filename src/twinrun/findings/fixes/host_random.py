"""Draws from Python's and NumPy's global streams in code that the framework calls: from generators instead.

That is `py_function`, `numpy_function` or a generator of a dataset (TW204), and the `__getitem__` of a Keras
PyDataset (TW205).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Changes, Draft, argument
from twinrun.findings.fixes.element_seeds import (
    Mapped,
    mapped_functions,
    parameters,
    passed_function,
    seed_name,
    seeds_passed_in,
)
from twinrun.findings.fixes.module import Function, Module, Unsure, called_name, require, sure
from twinrun.knowledge.functions import NUMPY, PYTHON, Kind

_STREAMS = {"numpy.random": NUMPY, "random": PYTHON}


# -- in a map -----------------------------------------------------------------------------------------


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
    return Draft(edit.the_only(partial(_seeded, module), here), note, safe=True)


def _host_calls(module: Module) -> list[HostCall]:
    found = []
    for mapped in mapped_functions(module):
        for call in module.calls(Kind.HOST_CALL, within=mapped.function):
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
    added = (edit.add_element(inputs, seed), edit.add_parameter(host.function, seed))
    return (*passed, *added, *_drawn(module, host.function, seeds))


def _drawn(module: Module, function: Function, seeds: dict[str, str]) -> Changes:
    """The draws of a function, from a generator that it makes of its seed."""
    if isinstance(function, cst.FunctionDef):
        lines, draws = _own_generators(module, function, seeds)
        return (*edit.at_the_top(module, function, *lines), *draws)
    # A lambda has no room for a statement: with a single draw the generator is made on the spot.
    streams = [stream for _, stream in _draws(module, function.body)]
    require(len(streams) == 1)
    generator = _generator_made(module, streams[0], seeds[streams[0]])
    return _draws_from(module, function.body, {streams[0]: generator})


# -- in a generator -----------------------------------------------------------------------------------


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
            lines, draws = _own_generators(
                module, function, dict.fromkeys((NUMPY, PYTHON), module.seed(function))
            )
            blank = 2 if module.parent[function] is module.tree else 0
            made = edit.lines_before(module, function, *lines, blank=blank)
            return Draft(made + draws, "draw from a generator that nothing else draws from", safe=True)
    raise Unsure


# -- in a loader --------------------------------------------------------------------------------------


def in_loader(module: Module, line: int) -> Draft:
    """Make the generator from (seed, epoch, index): then it does not matter which worker serves the batch."""
    loader = _loader(module, line)
    methods = {node.name.value: node for node in loader.body.body if isinstance(node, cst.FunctionDef)}
    getter = sure(methods.get("__getitem__"))
    index, *more = parameters(module, getter)
    used = {node.value for node in module.find(cst.Name, loader)}
    require(not more and "__slots__" not in used)
    epoch = next(name for name in ("epoch", "data_epoch", "epochs_served", "twin_epoch") if name not in used)
    # random.Random takes no tuple as its seed, and takes text.
    seed = module.seed(loader)
    as_text = f'f"{_in_text(seed)} {{self.{epoch}}} {{{index}}}"'
    lines, draws = _own_generators(
        module, getter, {NUMPY: f"({seed}, self.{epoch}, {index})", PYTHON: as_text}
    )
    made = edit.at_the_top(module, loader, f"{epoch} = 0") + edit.at_the_top(module, getter, *lines) + draws
    # Keras calls on_epoch_end when the workers have stopped, so nobody reads the epoch meanwhile.
    at_end = methods.get("on_epoch_end")
    if at_end is not None:
        made += edit.at_the_top(module, at_end, f"self.{epoch} += 1")
    else:
        method = ("def on_epoch_end(self):", f"    self.{epoch} += 1")
        made += edit.lines_after(module, list(methods.values())[-1], *method, above=True)
    return Draft(made, "make a generator for each batch from a seed, the epoch and the index", safe=True)


def _in_text(seed: str) -> str:
    """A seed inside an f-string."""
    return seed if seed.isdigit() else f"{{{seed}}}"


def _loader(module: Module, line: int) -> cst.ClassDef:
    """The loader class around the line, or the one that is made there, or the only one."""
    loaders = [
        node
        for node in module.find(cst.ClassDef)
        if any(module.is_kind(base.value, Kind.LOADER) for base in node.bases)
    ]
    around = [loader for loader in loaders if module.spans(loader, line)]
    made = {called_name(call) for call in module.calls_at(line)}
    named = around or [loader for loader in loaders if loader.name.value in made] or loaders
    require(around or len(named) == 1)
    return named[0]


# -- the draws ----------------------------------------------------------------------------------------


def _own_generators(module: Module, part: cst.CSTNode, seeds: Mapping[str, str]) -> tuple[list[str], Changes]:
    """Lines that make generators from these seeds, and all draws in a part of the tree, drawn from them."""
    streams = sorted({stream for _, stream in _draws(module, part)})
    names = dict.fromkeys(streams, module.free("rng", "own_rng"))
    if len(streams) > 1:
        names[PYTHON] = module.free("python_rng")
    lines = [f"{names[stream]} = {_generator_made(module, stream, seeds[stream])}" for stream in streams]
    return lines, _draws_from(module, part, names)


def _draws(module: Module, part: cst.CSTNode) -> list[tuple[cst.Call, str]]:
    """Every draw in a part of the tree, and the global stream that it is from."""
    modules = {call: (module.name(call) or "").rpartition(".")[0] for call in module.find(cst.Call, part)}
    return [(call, _STREAMS[name]) for call, name in modules.items() if name in _STREAMS]


def _draws_from(module: Module, part: cst.CSTNode, generators: Mapping[str, str]) -> Changes:
    """The global draws in a part of the tree, from these generators instead."""
    changes: list[Change] = []
    for call, stream in _draws(module, part):
        draw = sure(module.known(call))
        require(draw.generator_method)
        changes.append(edit.replace(call.func, f"{generators[stream]}.{draw.generator_method}"))
        if draw.by_dimension and call.args:
            require(not any(arg.keyword for arg in call.args))
            changes.append(Change(call, _with_shape))
    require(changes)
    return tuple(changes)


def _generator_made(module: Module, stream: str, seed: str) -> str:
    """The code that makes a generator of this stream's library."""
    maker = "numpy.random.default_rng" if stream == NUMPY else "random.Random"
    return f"{sure(module.spelled(maker)).text}({seed})"


def _with_shape(call: cst.Call) -> cst.Call:
    """`rand(3, 4)` as `random((3, 4))`, `rand(*x.shape)` as `random(x.shape)`."""
    if len(call.args) == 1:
        return call.with_changes(args=[call.args[0].with_changes(star="")])
    elements = [
        (cst.StarredElement if arg.star else cst.Element)(arg.value, comma=arg.comma) for arg in call.args
    ]
    return call.with_changes(args=[cst.Arg(cst.Tuple(elements))])
