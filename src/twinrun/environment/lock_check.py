"""What no longer matches a lock: packages, the interpreter, variables, and the key they should lead to."""

from __future__ import annotations

from collections.abc import Mapping

from twinrun.environment.difference import BITS, METRICS, NOTHING, Difference, differences, shown
from twinrun.environment.environment import Environment
from twinrun.environment.lock import Lock
from twinrun.environment.variables import THREADS


def mismatches(lock: Lock, environment: Environment, variables: Mapping[str, str]) -> list[Difference]:
    """The lock is side `a`, this machine side `b`. What can change bits comes first."""
    of_key = _key(lock, environment)
    found = [
        *of_key,
        *_python(lock, environment),
        *_packages(lock, environment),
        *_variables(lock, variables),
    ]
    order = (BITS, METRICS, NOTHING)
    return sorted(found, key=lambda each: order.index(each.group))


def _key(lock: Lock, environment: Environment) -> list[Difference]:
    """Differences of the key; only those of the machine where the framework was not asked."""
    found = differences(Environment({}, lock.key), Environment({}, environment.key))
    if environment.get("framework", "name") or lock.key.facts.get("framework") == "none":
        return found
    return [each for each in found if each.field in ("key.machine", "key.libc", "key.vector")]


def _python(lock: Lock, environment: Environment) -> list[Difference]:
    here = str(environment.get("python", "version", "unknown"))
    if here == lock.python:
        return []
    sentence = f"Python is {shown(here)}, the lock has {shown(lock.python)}"
    return [Difference("python.version", METRICS, "TW501", sentence, lock.python, here)]


def _packages(lock: Lock, environment: Environment) -> list[Difference]:
    here = environment.get("packages", "installed", {})
    found = []
    for package in lock.packages:
        version = here.get(package.name)
        if version == package.version:
            continue
        state = "is not installed" if version is None else f"is {shown(version)}"
        sentence = f"{shown(package.name)} {state}, the lock has {shown(package.version)}"
        found.append(
            Difference(f"packages.{package.name}", METRICS, "TW501", sentence, package.version, version)
        )
    locked = {package.name for package in lock.packages}
    for name, version in here.items():
        if name not in locked and name != "pip":
            sentence = f"{shown(name)} {shown(version)} is installed and not in the lock"
            found.append(Difference(f"packages.{name}", NOTHING, "TW501", sentence, None, version))
    return found


def _variables(lock: Lock, variables: Mapping[str, str]) -> list[Difference]:
    found = []
    for name, value in lock.variables.items():
        if variables.get(name) == value:
            continue
        code = "TW505" if name in THREADS else "TW507" if name == "PYTHONHASHSEED" else "TW504"
        # The key says what is in effect. A variable that is not set may still be in effect by default, on
        # this machine.
        group = METRICS if name == "PYTHONHASHSEED" else NOTHING
        state = f"is {shown(variables[name])}" if name in variables else "is not set"
        sentence = f"{name} {state}, the lock has {shown(value)}"
        found.append(Difference(f"variables.{name}", group, code, sentence, value, variables.get(name)))
    return found
