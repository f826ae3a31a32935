"""Draws from Python's and NumPy's global streams, rewritten to draw from generator objects instead."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from twinrun.findings.fixes.changes import Change, Changes, replace
from twinrun.findings.fixes.module import Module, require, sure
from twinrun.knowledge.functions import NUMPY, PYTHON, known

_STREAMS = {"numpy.random": NUMPY, "random": PYTHON}


def own_generators(module: Module, part: cst.CSTNode, seeds: Mapping[str, str]) -> tuple[list[str], Changes]:
    """Lines that make generators from these seeds, and all draws in a part of the tree, drawn from them."""
    streams = sorted(set(streams_drawn(module, part)))
    names = dict.fromkeys(streams, module.free("rng", "own_rng"))
    if len(streams) > 1:
        names[PYTHON] = module.free("python_rng")
    lines = [f"{names[stream]} = {generator_made(module, stream, seeds[stream])}" for stream in streams]
    return lines, draws_from(module, part, names)


def streams_drawn(module: Module, part: cst.CSTNode) -> list[str]:
    """The global stream of every draw in a part of the tree."""
    return [stream for call in module.find(cst.Call, part) if (stream := _stream(module, call))]


def draws_from(module: Module, part: cst.CSTNode, generators: Mapping[str, str]) -> Changes:
    """The global draws in a part of the tree, from these generators instead."""
    changes: list[Change] = []
    for call in module.find(cst.Call, part):
        stream = _stream(module, call)
        if stream is None:
            continue
        draw = sure(known(module.name(call)))
        require(draw.generator_method)
        changes.append(replace(call.func, f"{generators[stream]}.{draw.generator_method}"))
        if draw.by_dimension and call.args:
            require(not any(arg.keyword for arg in call.args))
            changes.append(Change(call, _with_shape))
    require(changes)
    return tuple(changes)


def generator_made(module: Module, stream: str, seed: str) -> str:
    """The code that makes a generator of this stream's library."""
    maker = "numpy.random.default_rng" if stream == NUMPY else "random.Random"
    return f"{sure(module.spelled(maker)).text}({seed})"


def _stream(module: Module, call: cst.Call) -> str | None:
    """The global stream whose functions a call is one of."""
    return _STREAMS.get((module.name(call) or "").rpartition(".")[0])


def _with_shape(call: cst.Call) -> cst.Call:
    """`rand(3, 4)` as `random((3, 4))`, `rand(*x.shape)` as `random(x.shape)`."""
    if len(call.args) == 1:
        return call.with_changes(args=[call.args[0].with_changes(star="")])
    elements = [
        (cst.StarredElement if arg.star else cst.Element)(arg.value, comma=arg.comma) for arg in call.args
    ]
    return call.with_changes(args=[cst.Arg(cst.Tuple(elements))])
