"""What no longer matches a lock: packages, the interpreter, variables, and the key they should lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from twinrun.environment.difference import GROUPS, METRICS, NOTHING, Difference, differences, readable
from twinrun.environment.environment import Environment
from twinrun.environment.lock import Lock
from twinrun.environment.variables import THREADS
from twinrun.masking import masked


def mismatches(lock: Lock, environment: Environment, variables: Mapping[str, str]) -> list[Difference]:
    """The lock is side `a`, this machine side `b`. What can change bits comes first."""
    found = [
        *_key(lock, environment),
        *_python_and_packages(lock, environment),
        *_variables(lock, variables),
    ]
    return sorted(found, key=lambda each: GROUPS.index(each.group))


def _key(lock: Lock, environment: Environment) -> list[Difference]:
    """Differences of the key; only those of the machine where the framework was not loaded."""
    found = differences(Environment({}, lock.key), Environment({}, environment.key))
    if environment.get("framework", "name") or lock.key.get("framework") == "none":
        return found
    return [each for each in found if each.field in ("key.machine", "key.libc", "key.vector")]


def _python_and_packages(lock: Lock, environment: Environment) -> Iterator[Difference]:
    here = environment.get("packages", "installed", {})
    locked = {package.name: package.version for package in lock.packages}
    python = str(environment.get("python", "version", "unknown"))
    if python != lock.python:
        yield _mismatch("python.version", "Python", METRICS, "TW501", lock.python, python)
    for name, version in locked.items():
        if here.get(name) != version:
            yield _mismatch(f"packages.{name}", name, METRICS, "TW501", version, here.get(name), "installed")
    for name, version in here.items():
        if name not in locked and name != "pip":
            sentence = f"{readable(name)} {readable(version)} is installed and not in the lock"
            yield Difference(f"packages.{name}", NOTHING, "TW501", sentence, None, version)


def _variables(lock: Lock, variables: Mapping[str, str]) -> Iterator[Difference]:
    for name, value in lock.variables.items():
        if masked(variables.get(name)) != value:
            code = "TW505" if name in THREADS else "TW507" if name == "PYTHONHASHSEED" else "TW504"
            # What is in effect is in the key: a numeric variable that is not set may be the default here.
            group = METRICS if name == "PYTHONHASHSEED" else NOTHING
            yield _mismatch(f"variables.{name}", name, group, code, value, variables.get(name), "set")


def _mismatch(
    field: str, name: str, group: str, code: str, locked: str, here: Any, present: str = ""
) -> Difference:
    state = f"is not {present}" if here is None else f"is {readable(here)}"
    sentence = f"{readable(name)} {state}, the lock has {readable(locked)}"
    return Difference(field, group, code, sentence, locked, here)
