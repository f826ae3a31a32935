"""A cheap look at the text of files, to follow only what can hold a finding. It may err on one side only."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeVar

from twinrun.source_audit.program_files import Module, Sources

T = TypeVar("T")

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
    near = [module]
    roots = sources.roots(module)
    for name in module.imports:
        found = sources.find(name, roots) or sources.find(name.rpartition(".")[0], roots)
        if found is not None:
            near.append(found)
    varies = any(_varies(each) for each in near)
    return varies and any(_trains(each) for each in near)


def _varies(module: Module) -> bool:
    return _remembered(module, "varies", lambda: _SOURCES.search(module.source) is not None)


def _trains(module: Module) -> bool:
    return _remembered(module, "trains", lambda: _SINKS.search(module.source) is not None)


def _remembered(module: Module, what: str, find: Callable[[], T]) -> T:
    if what not in module.remembered:
        module.remembered[what] = find()
    found: T = module.remembered[what]
    return found


def names_that_vary(sources: Sources, module: Module) -> frozenset[str]:
    """The names in a module, its own and imported ones, behind which something that varies may be."""
    return _varying_names(module) | _imported_names(sources, module)


def may_bring_in(module: Module, node: ast.stmt | ast.expr, names: frozenset[str]) -> bool:
    """Whether a function or class holds something that may vary, or mentions a name that does."""
    text = _segment(module, node)
    return _SOURCES.search(text) is not None or (bool(names) and _mentioned(text, names))


def _segment(module: Module, node: ast.stmt | ast.expr) -> bytes:
    lines = _lines(module)
    return b"\n".join(lines[node.lineno - 1 : node.end_lineno])


def _lines(module: Module) -> list[bytes]:
    return _remembered(module, "lines", module.source.splitlines)


def _varying_names(module: Module) -> frozenset[str]:
    """The names that a module binds to something that may vary, directly or through another such name."""
    return _remembered(module, "varying names", lambda: _find_varying_names(module))


def _find_varying_names(module: Module) -> frozenset[str]:
    segments = [(_bound(node), _segment(module, node)) for node in module.tree.body]
    segments = [(names, text) for names, text in segments if names]
    found: frozenset[str] = frozenset().union(*(names for names, text in segments if _SOURCES.search(text)))
    for _ in range(2 if found else 0):
        found = found.union(*(names for names, text in segments if _mentioned(text, found)))
    return found


def _bound(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset({node.name})
    return frozenset(
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )


def _imported_names(sources: Sources, module: Module) -> frozenset[str]:
    found = set()
    roots = sources.roots(module)
    for alias, dotted in module.aliases.items():
        whole = sources.find(dotted, roots)
        if whole is not None:
            varies = _varies(whole)
        else:
            base, _, name = dotted.rpartition(".")
            part = sources.find(base, roots)
            varies = part is not None and name in _varying_names(part)
        if varies:
            found.add(alias)
    return frozenset(found)


def _mentioned(text: bytes, names: frozenset[str]) -> bool:
    return not names.isdisjoint(_WORDS.findall(text.decode("utf-8", "replace")))


_WORDS = re.compile(r"[^\W\d]\w*")
