"""Draws from Python's and NumPy's global streams, rewritten to draw from generator objects instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.module import Module

# np.random functions and the Generator's method, where the arguments stay as they are.
_RENAMED = {"random_sample": "random", "ranf": "random", "sample": "random", "randint": "integers"}
# fmt: off
_SAME = {
    "random", "choice", "shuffle", "permutation", "bytes", "beta", "binomial", "chisquare",
    "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel", "hypergeometric", "laplace",
    "logistic", "lognormal", "logseries", "multinomial", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "poisson", "power", "rayleigh",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
}
# fmt: on
# np.random functions that take the shape as separate arguments.
_BY_DIMENSION = {"rand": "random", "randn": "standard_normal"}
# fmt: off
_PYTHON = {
    "random", "uniform", "randint", "randrange", "choice", "choices", "shuffle", "sample", "gauss",
    "normalvariate", "lognormvariate", "expovariate", "betavariate", "gammavariate", "triangular",
    "vonmisesvariate", "paretovariate", "weibullvariate", "getrandbits", "randbytes",
}
# fmt: on


@dataclass(frozen=True)
class Draws:
    """The rewritten draws of a function, and how many are NumPy's and how many Python's."""

    edits: tuple[Edit, ...]
    numpy: int
    python: int


@dataclass(frozen=True)
class OwnGenerators:
    """The lines that make generators, and the draws of a function rewritten to draw from them."""

    lines: tuple[str, ...]
    edits: tuple[Edit, ...]


def own_generators(module: Module, part: ast.AST, numpy_seed: str, python_seed: str) -> OwnGenerators | None:
    """Generators made from these seeds for everything a part of the tree draws; None when that cannot be."""
    rng, python_rng = module.names.free("rng", "own_rng"), module.names.free("python_rng")
    draws = draws_from(module, part, rng, rng)
    if draws is not None and draws.numpy and draws.python:
        draws = draws_from(module, part, rng, python_rng)
    if draws is None:
        return None
    numpy, python = numpy_random_name(module), python_random_name(module)
    if (draws.numpy and numpy is None) or (draws.python and python is None):
        return None
    lines = [f"{rng} = {numpy}.default_rng({numpy_seed})"] if draws.numpy else []
    if draws.python:
        lines.append(f"{python_rng if draws.numpy else rng} = {python}.Random({python_seed})")
    return OwnGenerators(tuple(lines), draws.edits)


def draws_from(module: Module, part: ast.AST, rng: str, python_rng: str) -> Draws | None:
    """The global draws in a part of the tree, from `rng` and `python_rng` instead; None if one cannot be."""
    edits: list[Edit] = []
    numpy = python = 0
    for call in module.calls(part):
        name = module.names.called(call) or ""
        package, _, function = name.rpartition(".")
        if package == "numpy.random":
            rewritten = _numpy_call(module, call, function, rng)
            if rewritten is None:
                return None
            edits += rewritten
            numpy += 1
        elif package == "random":
            if function not in _PYTHON:
                return None
            edits.append(module.replace(call.func, f"{python_rng}.{function}"))
            python += 1
    return Draws(tuple(edits), numpy, python) if edits else None


def numpy_random_name(module: Module) -> str | None:
    """What `numpy.random` is called in this module."""
    for each in module.names.given_by("numpy"):
        return f"{each.local}.random"
    for each in module.names.given_by("numpy.random"):
        return each.local
    return None


def python_random_name(module: Module) -> str | None:
    return next((each.local for each in module.names.given_by("random")), None)


def _numpy_call(module: Module, call: ast.Call, function: str, rng: str) -> list[Edit] | None:
    if function in _SAME or function in _RENAMED:
        return [module.replace(call.func, f"{rng}.{_RENAMED.get(function, function)}")]
    if function not in _BY_DIMENSION or call.keywords:
        return None
    edits = [module.replace(call.func, f"{rng}.{_BY_DIMENSION[function]}")]
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):  # rand(*x.shape)
        starred = call.args[0]
        edits.append(Edit(module.start(starred), module.start(starred.value), ""))
    elif len(call.args) > 1:
        first, last = module.start(call.args[0]), module.end(call.args[-1])
        edits += [Edit(first, first, "("), Edit(last, last, ")")]
    return edits
