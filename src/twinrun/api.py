"""The library calls that stand for the verbs: `twinrun.check` and `twinrun.compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twinrun.comparison.contract import parse_contract
from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.result import CheckResult
from twinrun.settings import check_options


def check(
    program: str | Path | Callable[[], Any],
    *arguments: str,
    module: bool = False,
    runs: int = 2,
    steps: int | None = None,
    workers: int | str | tuple[int, ...] | None = None,
    replicas: int | None = None,
    contract: str | None = None,
    pin: int | str | bool | None = None,
    vary: str | None = None,
    devices: str | None = None,
    freeze: tuple[str, ...] = (),
    stress: bool = False,
    sequential: bool = False,
    timeout: float | str | None = None,
    diagnose: bool = True,
    budget: float | None = None,
    show_arguments: bool = False,
) -> CheckResult:
    """Run a program in twin processes and compare every step, as `twinrun check` does. `program` is a path, a module name
    (with `module=True`), or a function of an importable module that takes no arguments. `arguments` are the program's. The
    keywords are the options of the command line; the contract is `bitwise` unless one is given, or devices.

    A program that diverges raises no exception: see `verdict` or `exit_code` of the result.
    """
    target = _callable(program) if callable(program) else Program(str(program), arguments, module)
    options = check_options(
        target, runs=runs, steps=steps, workers=workers, replicas=replicas, contract=contract, pin=pin, vary=vary, devices=devices, freeze=freeze, stress=stress,
        sequential=sequential, timeout=timeout, show_arguments=show_arguments,
    )  # fmt: skip
    if not diagnose:
        from twinrun.launch.check import run_check

        return run_check(options)
    from twinrun.diagnose.diagnosis import check_and_diagnose

    return check_and_diagnose(options, budget=budget)


def compare(a: str | Path, b: str | Path, contract: str = "bitwise") -> CheckResult:
    """Compare two recordings, as `twinrun diff` does. `a` and `b` are their folders."""
    from twinrun.launch.offline import compare_recordings

    return compare_recordings(Path(a), Path(b), parse_contract(contract))


def _callable(function: Callable[[], Any]) -> Program:
    """A fresh interpreter must be able to import the function, from where it was imported here."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        raise UsageError(
            f"{name or function!r} cannot be imported by a fresh interpreter",
            hint="define it at the top level of a module (not of the script itself), or give check() a path",
        )
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    levels = str(module).count(".") + (Path(file or "").stem == "__init__")
    root = str(Path(file).resolve().parents[levels]) if file else ""
    return Program("twinrun.twin.call", (str(module), name, root), module=True)
