"""Draws from Python's and NumPy's global streams, rewritten to draw from generator objects instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from twinrun.findings.fixes.changes import Change, Changes, replace
from twinrun.findings.fixes.module import Module
from twinrun.knowledge import NUMPY, PYTHON, known

_STREAMS = {"numpy.random": NUMPY, "random": PYTHON}


@dataclass(frozen=True)
class OwnGenerators:
    """The lines that make generators, and the draws of a function rewritten to draw from them."""

    lines: tuple[str, ...]
    changes: Changes


def own_generators(module: Module, part: cst.CSTNode, seeds: Mapping[str, str]) -> OwnGenerators | None:
    """Generators made from these seeds for everything a part of the tree draws; None when that cannot be."""
    streams = set(streams_drawn(module, part))
    makers = {stream: generator_made(module, stream, seeds[stream]) for stream in sorted(streams)}
    rng = module.free("rng", "own_rng")
    names = dict.fromkeys(streams, rng)
    if len(streams) > 1:
        names[PYTHON] = module.free("python_rng")
    draws = draws_from(module, part, names)
    if not draws or None in makers.values():
        return None
    return OwnGenerators(tuple(f"{names[stream]} = {made}" for stream, made in makers.items()), draws)


def streams_drawn(module: Module, part: cst.CSTNode) -> list[str]:
    """The global stream of every draw in a part of the tree."""
    return [stream for call in module.find(cst.Call, part) if (stream := _stream(module, call))]


def draws_from(module: Module, part: cst.CSTNode, generators: Mapping[str, str]) -> Changes | None:
    """The global draws in a part of the tree, from these generators instead; None if one cannot be."""
    changes: list[Change] = []
    for call in module.find(cst.Call, part):
        stream = _stream(module, call)
        if stream is None:
            continue
        draw = known(module.name(call))
        if draw is None or not draw.generator_method:
            return None
        changes.append(replace(call.func, f"{generators[stream]}.{draw.generator_method}"))
        if draw.by_dimension and call.args:
            if any(arg.keyword for arg in call.args):
                return None
            changes.append(Change(call, _with_shape))
    return tuple(changes)


def generator_made(module: Module, stream: str, seed: str) -> str | None:
    """The code that makes a generator of this stream's library; None when the library has no name here."""
    for dotted, rest in (
        (("numpy", ".random"), ("numpy.random", "")) if stream == NUMPY else (("random", ""),)
    ):
        for each in module.given_by(dotted):
            return f"{each.local}{rest}.{'default_rng' if stream == NUMPY else 'Random'}({seed})"
    return None


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
