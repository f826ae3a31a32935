"""A cheap look at the text of files, so that only what can hold a finding is followed. It never rules one out wrongly."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from twinrun.source_audit.program_files import Module, Roots, Sources

_KEPT = 4_000  # modules about which the answers are kept

# What a text must hold for something that varies to come in there, whoever calls it.
_SOURCES = re.compile(
    rb"default_rng|RandomState|Random\(|SeedSequence|from_non_deterministic|global_generator|listdir|ListDirectory"
    rb"|scandir|glob\b|iterdir|walk\(|\bset\(|frozenset\(|\bhash\(|urandom|secrets|uuid|getpid|time\(|datetime"
    rb"|perf_counter|monotonic|deterministic|num_parallel_calls|shuffle_files|cache\(|MirroredStrategy"
    rb"|\{\s*['\"][^:{}]*[,}]|\{[^:{}'\"]*\sfor\s[^:{}]*\}"  # a set of strings, a set comprehension
)
# What a text must hold for something to be trained there, or a dataset to be made.
_SINKS = re.compile(rb"tensorflow|keras|\.fit\(|\.backward\(")


def worth_following(sources: Sources, module: Module) -> bool:
    """Whether a program can hold a finding: something in it, or in a module of its own, trains."""
    return any(_trains(each) for each in sources.closure(module, sources.roots(module)))


def worth_looking_into(sources: Sources, module: Module) -> bool:
    """The same for a file that others call: something varies, and something trains, in it or in a module of
    the program that it imports."""
    near = [module, *sources.imported(module, sources.roots(module))]
    return any(map(_varies, near)) and any(map(_trains, near))


@lru_cache(maxsize=_KEPT)
def _varies(module: Module) -> bool:
    return _SOURCES.search(module.source) is not None


@lru_cache(maxsize=_KEPT)
def _trains(module: Module) -> bool:
    return _SINKS.search(module.source) is not None


@lru_cache(maxsize=_KEPT)
def _lines(module: Module) -> list[bytes]:
    return module.source.splitlines()


def names_that_vary(sources: Sources, module: Module) -> frozenset[str]:
    """The names in a module, its own and imported ones, behind which something that varies may be."""
    return _varying_names(module) | _imported_names(sources, module)


def may_bring_in(module: Module, node: ast.stmt | ast.expr, names: frozenset[str]) -> bool:
    """Whether a function or class holds something that may vary, or mentions a name that does."""
    text = _segment(module, node)
    return _SOURCES.search(text) is not None or (bool(names) and _mentioned(text, names))


def _segment(module: Module, node: ast.stmt | ast.expr) -> bytes:
    return b"\n".join(_lines(module)[node.lineno - 1 : node.end_lineno])


@lru_cache(maxsize=_KEPT)
def _varying_names(module: Module) -> frozenset[str]:
    """The names that a module binds to something that may vary, directly or through another such name."""
    segments = [(_bound(node), _segment(module, node)) for node in module.tree.body]
    segments = [(names, text) for names, text in segments if names]
    found: frozenset[str] = frozenset().union(*(names for names, text in segments if _SOURCES.search(text)))
    for _ in range(2 if found else 0):
        found = found.union(*(names for names, text in segments if _mentioned(text, found)))
    return found


def _bound(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset({node.name})
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))


def _imported_names(sources: Sources, module: Module) -> frozenset[str]:
    return frozenset(
        alias for alias, dotted in module.aliases.items() if _may_vary(sources, dotted, sources.roots(module))
    )


def _may_vary(sources: Sources, dotted: str, roots: Roots) -> bool:
    whole = sources.find(dotted, roots)
    if whole is not None:
        return _varies(whole)
    base, _, name = dotted.rpartition(".")
    part = sources.find(base, roots)
    return part is not None and name in _varying_names(part)


def _mentioned(text: bytes, names: frozenset[str]) -> bool:
    return not names.isdisjoint(_WORDS.findall(text.decode("utf-8", "replace")))


_WORDS = re.compile(r"[^\W\d]\w*")
