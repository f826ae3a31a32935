"""A cheap look at the text of files, so that only what can hold a finding is followed. It never rules one out wrongly."""

from __future__ import annotations

import re
from functools import lru_cache

from twinrun.source_audit.program_files import Module, Sources

_KEPT = 4_000  # modules about which the answers are kept

# What a text must hold for something that varies to come in there, whoever calls it.
_SOURCES = re.compile(
    rb"default_rng|RandomState|Random\(|SeedSequence|from_non_deterministic|global_generator|listdir|ListDirectory"
    rb"|scandir|glob\b|iterdir|walk\(|\bset\(|frozenset\(|\bhash\(|urandom|secrets|uuid|getp?pid|time\(|datetime"
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
