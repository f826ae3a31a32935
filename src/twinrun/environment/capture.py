"""Reads the environment of this process. Imports no framework itself: a framework's own facts come from its
package in frameworks, once the framework is loaded. `python -m twinrun.environment.capture` loads the installed framework
and prints the environment as one line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.environment import machine, packages, user_files, variables
from twinrun.environment.environment import UNREAD, Environment
from twinrun.environment.key import key_of
from twinrun.masking import masked
from twinrun.protocol.registry import frameworks

if TYPE_CHECKING:
    from twinrun.frameworks.protocol import Framework


def capture(
    *,
    base: Path | str | None = None,
    data_files: Iterable[Path | str] = (),
    initialise: bool = False,
) -> Environment:
    """The environment of this process, now. Never raises: a field that cannot be read holds the reason.

    `base` is the folder that the user's files are named relative to (the program's own, by default),
    `data_files` are the files that the program read, and `initialise` lets the framework look for devices
    that the program has not asked for.
    """
    folder = _base(base)
    git = user_files.GitState(folder)
    sections: dict[str, Callable[[], dict[str, Any]]] = {
        "python": machine.read_python,
        "platform": machine.read_platform,
        "cpu": machine.read_cpu,
        "gpu": machine.read_gpu,
        "framework": lambda: _framework(initialise),
        "packages": packages.read_packages,
        "variables": lambda: dict(variables.read_variables(os.environ)),
        "data": lambda: user_files.read_data(data_files, folder),
        "code": lambda: user_files.read_code(folder, git),
    }
    facts = masked({name: _guarded(read) for name, read in sections.items()})
    return Environment(facts, key_of(facts))


def _guarded(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = _plain(read())
        return facts
    except Exception as problem:  # capturing must never stop the program it looks at
        return {"unread": f"{UNREAD}{type(problem).__name__}: {problem}"}


def _plain(value: Any) -> Any:
    """Plain JSON, whatever the readers gave."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _framework(initialise: bool) -> dict[str, Any]:
    for framework in frameworks():
        # A name in sys.modules may be a module whose import failed: only one with a version is in use.
        if framework.describer and hasattr(sys.modules.get(framework.module), "__version__"):
            return dict(import_module(framework.describer).describe(initialise=initialise))
    return {}


def _base(base: Path | str | None) -> Path:
    """The folder of the program that runs, else the working folder."""
    if base is not None:
        return Path(base).resolve()
    main = user_files.file_of(sys.modules.get("__main__"))
    if main is not None and Path(main).exists() and "site-packages" not in main:
        return Path(main).resolve().parent
    return Path.cwd()


def installed_framework() -> Framework | None:
    """The first installed framework that can be described; nothing is imported."""
    described = (each for each in frameworks() if each.describer)
    return next((each for each in described if find_spec(each.module) is not None), None)


def main() -> None:
    framework = installed_framework()
    if framework is not None:
        import_module(framework.describer).load()
    print(json.dumps({"twinrun/environment/1": capture(base=Path.cwd(), initialise=True).as_json()}))


if __name__ == "__main__":
    main()
