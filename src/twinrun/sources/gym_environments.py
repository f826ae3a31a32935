"""Environments of gymnasium (and of gym, its predecessor), which take a seed when they are first reset, or fresh entropy.

Part of the source `generators`. A program's own environment draws in its methods; to blame is the line that resets it."""

from __future__ import annotations

import multiprocessing
import os
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from twinrun.protocol import Point
from twinrun.sources.library_generators import NAME, OF_NUMPY, pinned_seed
from twinrun.twin.callers import Caller, caller
from twinrun.twin.session import Session

_PACKAGES = ("gymnasium", "gym")


def is_inside(frame: FrameType, via: str) -> bool:
    """Whether this frame of the program's own is a method of an environment that was called without a seed. One that got
    a seed and did not hand it on is to blame itself, and so is a constructor: no seed reaches it."""
    code = frame.f_code
    if via not in _PACKAGES or not code.co_argcount or code.co_name == "__init__":
        return False
    there = frame.f_locals
    kind = type(there.get(code.co_varnames[0]))
    is_method = any(getattr(vars(each).get(code.co_name), "__code__", None) is code for each in kind.__mro__)
    return is_method and _is_environment(kind, sys.modules[via]) and there.get("seed") is None


def _is_environment(kind: type, package: Any) -> bool:
    vector = getattr(package, "vector", None)
    return issubclass(kind, (package.Env, *filter(None, [getattr(vector, "VectorEnv", None)])))


def is_worker(who: Caller | None) -> bool:
    """Whether an environment draws in a worker process that gymnasium has forked: the stack goes on with that of the
    parent, whose line made the workers and did not reset them."""
    if who is None or multiprocessing.parent_process() is None:
        return False
    return who.via in _PACKAGES and who.entry.startswith(("make", "__init__"))


def _reset_in_workers(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    """The environments are in other processes, and take their entropy there."""
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    def reset_async(self: Any, seed: Any = None, options: Any = None) -> Any:
        if seed is None and self not in known:
            who = caller(passes=is_inside)
            number = session.log.frozen(NAME, "make", who)
            seed = number if number is not None else pinned_seed(session, who)
            fresh = getattr(os.urandom, "__wrapped__", os.urandom)(8)
            data = fresh if seed is None else str(seed).encode()
            session.log.record(NAME, "make", who, OF_NUMPY, data)
        known.add(self)
        return original(self, seed=seed, options=options)

    return reset_async


POINTS = (
    Point(
        "gymnasium.vector.async_vector_env:AsyncVectorEnv.reset_async",
        _reset_in_workers,
        "environments in worker processes that are reset without a seed",
        ("cause", "pin"),
        tested_on="gymnasium 1.0 to 1.4",
        after="gymnasium.vector",
    ),
)
