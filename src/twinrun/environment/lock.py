"""The lock: one JSON file with the versions, variables and thread settings of an environment. Pip's requirements
are rendered from it."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from twinrun.environment.environment import Environment, EnvironmentKey, read_json, typed
from twinrun.environment.machine import LEVELS
from twinrun.environment.variables import ALLOWED, NUMERIC
from twinrun.errors import UsageError
from twinrun.terminal import inline
from twinrun.whole_file import write_whole

FORMATS = {"lock": "twinrun.lock", "requirements": "twinrun.lock.requirements.txt"}  # and where each goes
# Facts of a framework that a variable sets: whole numbers and switches, of at least this value.
_READ_BACK = (
    ("intra_op_threads", "TF_NUM_INTRAOP_THREADS", 1),
    ("inter_op_threads", "TF_NUM_INTEROP_THREADS", 1),
    ("onednn", "TF_ENABLE_ONEDNN_OPTS", 0),
    ("op_determinism", "TF_DETERMINISTIC_OPS", 1),
)
# Creating a virtual environment installs pip, and replaces it: a pinned one would be in the way.
_NOT_PINNED = {"pip"}


@dataclass(frozen=True)
class Package:
    """A pinned distribution. `origin` is where it came from when not from an index; `hashes` are those of its
    archives."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    origin: str | None = None


@dataclass(frozen=True)
class Lock:
    """What must be the same for the key to be the same, and what the key was."""

    key: EnvironmentKey
    python: str
    platform: dict[str, Any]
    packages: tuple[Package, ...]
    variables: dict[str, str]
    hashes: str = "not requested: run `twinrun env lock --hashes` where a package index can be reached"
    notes: tuple[str, ...] = ()
    schema: Literal["twinrun/lock/1"] = "twinrun/lock/1"

    @property
    def complete(self) -> bool:
        """Whether every package that comes from an index has a hash."""
        return all(package.hashes for package in self.packages if package.origin is None)

    def text(self) -> str:
        document = {"name": self.key.name, **msgspec.to_builtins(self)}
        return json.dumps(document, indent=1, sort_keys=True) + "\n"


def lock_of(environment: Environment, *, loaded_only: bool = False) -> Lock:
    """The lock of an environment; `loaded_only` leaves out what the program did not import."""
    packages = environment.facts.get("packages", {})
    chosen = packages.get("loaded" if loaded_only else "installed")
    if not isinstance(chosen, dict):
        raise UsageError(
            "this environment has no list of packages", hint="capture it again with `twinrun env show`"
        )
    origins = _origins(environment)
    platform = environment.facts.get("platform", {})
    return Lock(
        key=environment.key,
        python=str(environment.get("python", "version", "unknown")),
        platform={name: platform.get(name) for name in ("system", "machine", "distribution", "libc")},
        packages=tuple(
            Package(name, str(version), origin=origins.get(name))
            for name, version in sorted(chosen.items())
            if name not in _NOT_PINNED
        ),
        variables=_variables(environment),
        notes=_notes(environment),
    )


def _origins(environment: Environment) -> dict[str, str]:
    """Where packages that did not come from an index came from."""
    found = environment.get("packages", "origins")
    return {name: str(origin) for name, origin in found.items()} if isinstance(found, dict) else {}


def _variables(environment: Environment) -> dict[str, str]:
    """The variables that give another process the same threads, instruction set and flags, as they were read
    back. A hash seed that was random stays so: a lock asks for nothing that was not there."""
    pinned: dict[str, str] = {}
    seed = _hash_seed(environment)
    if seed.isdigit():
        pinned["PYTHONHASHSEED"] = seed
    for fact, variable, least in _READ_BACK:
        value = environment.get("framework", fact)
        if isinstance(value, int) and value >= least:
            pinned[variable] = str(int(value))
    # The cap makes a stronger CPU behave as the one that was locked.
    _, caps = LEVELS.get(str(environment.get("cpu", "vector_in_effect")), ("", ()))
    if caps and environment.get("framework", "name"):
        pinned["ONEDNN_MAX_CPU_ISA"] = caps[0]
    # What the user had set stays, except where the value that was read back is in the lock already.
    superseded = {*pinned, "DNNL_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES"}
    for name, value in environment.facts.get("variables", {}).items():
        if name in NUMERIC and name not in superseded and str(value).isprintable():
            pinned[name] = str(value)
    return dict(sorted(pinned.items()))


def _hash_seed(environment: Environment) -> str:
    return str(environment.get("python", "hash_seed", "random"))


def _notes(environment: Environment) -> tuple[str, ...]:
    """What the lock cannot hold."""
    notes = []
    if not _hash_seed(environment).isdigit():
        notes.append("the hash seed was random: set PYTHONHASHSEED before locking to have it in the lock")
    for name, value in environment.facts.get("variables", {}).items():
        if not str(value).isprintable():
            notes.append(f"{name} is left out: it has more than one line")
    for name, origin in _origins(environment).items():
        notes.append(f"{name} is not from an index ({origin}): install it yourself")
    device = environment.key.get("device", "cpu")
    if device != "cpu":
        notes.append(f"the device ({device}) and its driver cannot be locked by a file")
    return tuple(notes)


def requirements(lock: Lock) -> str:
    """Pinned requirements for pip; the variables to set are in its head."""
    head = [
        f"environment key {lock.key.name}",
        f"Python {lock.python}",
        f"hashes: {lock.hashes}",
        *lock.notes,
        *(f"set {name}={shlex.quote(value)}" for name, value in lock.variables.items()),
    ]
    lines = [_comment(line) for line in head]
    for package in lock.packages:
        if package.origin is not None:
            lines.append(_comment(f"{package.name}=={package.version}: {package.origin}"))
            continue
        hashes = "".join(f" \\\n    --hash={word(each)}" for each in package.hashes)
        lines.append(f"{word(package.name)}=={word(package.version)}{hashes}\n")
    return "".join(lines)


def _comment(text: str) -> str:
    """Anybody may have edited the lock: nothing in it may start a new line of what is rendered. Pip knows a dozen ways to
    end one."""
    return f"# {inline(text)}\n"


def word(text: str) -> str:
    """A name, version or hash: anything else in its place is refused rather than rendered."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+!:-]*", text):
        raise UsageError(
            f"the lock holds {text!r} where a name or version should be",
            hint="write it again with `twinrun env lock`",
        )
    return text


def target_of(output: str | None, form: str, source: Path) -> Path:
    """Where to write one of FORMATS, which is never the file that it is made from."""
    target = Path(output or FORMATS[form])
    if target.exists() and source.exists() and target.samefile(source):
        raise UsageError(f"{target} is the file that --from reads", hint="give another file with -o")
    return target


def write_lock(lock: Lock, form: str, target: Path) -> None:
    write_whole(target, lock.text() if form == "lock" else requirements(lock))


def read_lock(path: Path) -> Lock:
    """Reads a lock file; one that is damaged or not a lock is an error that names the file."""
    document = read_json(path, "a lock", hint="write one with `twinrun env lock -o twinrun.lock`")
    lock = typed(document, Lock, "a lock of this version of Twinrun", where=str(path))
    for name, value in lock.variables.items():
        _must_be_settable(name, value, path)
    return lock


def _must_be_settable(name: str, value: str, path: Path) -> None:
    """Somebody may do what the lock says: it names only variables that Twinrun reads, each with one line."""
    if name not in ALLOWED or not value.isprintable():
        raise UsageError(
            f"the lock sets {name!r} to {value!r}, which Twinrun never writes",
            hint="read it before you use it, or write it again with `twinrun env lock`",
            where=str(path),
        )
