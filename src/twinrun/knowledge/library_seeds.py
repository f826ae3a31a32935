"""How libraries are given the seed that a call of theirs draws with: what the call leaves out, and what to write."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Seedless:
    """A call that is given no seed: what is wrong with it, as a clause, and what to write instead."""

    problem: str
    write: str


_STATE = "random_state=42"
_WITH_STATE = "write {function}(…, " + _STATE + ")"
_WITHOUT_STATE = "{library}'s {function} draws without random_state"
_RNG = "rng=42 (seed=42 before SciPy 1.15)"
# By library, the functions that the program calls, as patterns, in the order in which they are tried.
_CALLS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "sklearn": (
        ("train_test_split shuffle resample", "{function} shuffles without random_state", _WITH_STATE),
        ("split", "the splitter shuffles without random_state", f"give the splitter {_STATE} where it is made"),
        ("fit* partial_fit transform predict* score* sample* kneighbors*", _WITHOUT_STATE,
         f"give the estimator {_STATE} where it is made"),
        ("cross_* *_curve", _WITHOUT_STATE, f"give the estimator and the splitter {_STATE} where they are made"),
        ("*", _WITHOUT_STATE, _WITH_STATE),
    ),
    "pandas": (("sample", _WITHOUT_STATE, _WITH_STATE),),
    "scipy": (
        ("rvs", _WITHOUT_STATE, _WITH_STATE),
        ("__init__", "{library} makes a generator without a seed", f"give it {_RNG}"),
        ("*", "{library}'s {function} draws without a seed", f"give it {_RNG}"),
    ),
    "gymnasium": (
        ("sample", "a gymnasium space is sampled without a seed",
         "call env.action_space.seed(42) before the first sample()"),
        ("seed", "a gymnasium space is seeded without a value", "write env.action_space.seed(42)"),
        ("reset* step*", "a gymnasium environment is reset without a seed",
         "write env.reset(seed=42) where it is first reset; later resets need no seed"),
        ("np_random*", "a gymnasium environment draws before it is given a seed",
         "call super().reset(seed=seed) first in its reset(), and env.reset(seed=42)"),
        ("make* __init__", "the action space of a gymnasium vector environment has no seed",
         "call envs.action_space.seed(42) before the first sample()"),
    ),
    # From release 2 on, when transforms are made; before, they draw from Python's stream when they are called.
    "albumentations": (
        ("__init__ set_random_seed from_dict load", "albumentations augments without a seed",
         "write A.Compose(…, seed=42), or call set_random_seed(42) on what is made here"),
    ),
}  # fmt: skip
_CALLS["gym"] = _CALLS["gymnasium"]
_TITLES = {"sklearn": "scikit-learn", "scipy": "SciPy"}


def seedless(library: str, function: str) -> Seedless | None:
    """What is wrong with a call of this library's function that was given no seed; None: nothing is known about it."""
    names = {"library": _TITLES.get(library, library), "function": function}
    for patterns, problem, write in _CALLS.get(library, ()):
        if any(fnmatchcase(function, pattern) for pattern in patterns.split()):
            return Seedless(problem.format(**names), write.format(**names))
    return None
