"""Reads the environment of this process. Imports no framework: what one has to say comes from its adapter,
when it is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from twinrun.environment import gpu, inputs, machine, packages, source, variables
from twinrun.environment.environment import UNREAD, Environment
from twinrun.environment.key import key_of
from twinrun.environment.secrets import mask

# The module whose presence says that a framework is in use, and the adapter that describes it.
DESCRIBERS = {"tensorflow": "twinrun.frameworks.tensorflow.describe"}


def capture(
    *,
    base: Path | str | None = None,
    data_files: Iterable[Path | str] = (),
    initialise: bool = False,
) -> Environment:
    """The environment of this process, now. Never raises: a field that cannot be read says why.

    `base` is the folder the user's files are named relative to (the program's own, by default), `data_files`
    are the files the program was seen to read, and `initialise` lets the framework look for devices that it
    was not yet asked about.
    """
    folder = _base(base)
    git = source.GitState(folder)
    sections: dict[str, Callable[[], dict[str, Any]]] = {
        "python": machine.read_python,
        "platform": machine.read_platform,
        "cpu": machine.read_cpu,
        "gpu": gpu.read_gpu,
        "framework": lambda: _framework(initialise),
        "packages": packages.read_packages,
        "variables": lambda: dict(variables.read_variables(os.environ)),
        "data": lambda: inputs.read_inputs(data_files, folder),
        "code": lambda: _code(folder, git),
    }
    facts = {name: _guarded(read) for name, read in sections.items()}
    return Environment(facts, key_of(facts))


def _guarded(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {name: _clean(value) for name, value in read().items()}
    except Exception as problem:  # capturing must never stop the program it looks at
        return {"unread": f"{UNREAD}{type(problem).__name__}: {mask(str(problem))}"}


def _clean(value: Any) -> Any:
    """Plain JSON, no credential in any text: the last gate, whatever the readers before it did."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {str(name): _clean(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _framework(initialise: bool) -> dict[str, Any]:
    from importlib import import_module

    for module, adapter in DESCRIBERS.items():
        # A name in sys.modules may be a module that failed half way: only one with a version is in use.
        if hasattr(sys.modules.get(module), "__version__"):
            return dict(import_module(adapter).describe(initialise=initialise))
    return {}


def _code(folder: Path, git: source.GitState) -> dict[str, Any]:
    sources = source.read_sources(folder)
    return {"git": git.read(), "sources": sources, "digest": source.digest_of(sources)}


def _base(base: Path | str | None) -> Path:
    """The folder of the program that runs, else the working folder."""
    if base is not None:
        return Path(base).resolve()
    main = source.file_of(sys.modules.get("__main__"))
    if main is not None and Path(main).exists() and "site-packages" not in main:
        return Path(main).resolve().parent
    return Path.cwd()
