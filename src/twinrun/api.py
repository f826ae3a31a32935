"""The library calls that stand for the verbs: `twinrun.check` and `twinrun.compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twinrun.comparison.contract import parse_contract
from twinrun.errors import UsageError
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions
from twinrun.launch.program import Program
from twinrun.launch.vary import parse_variation
from twinrun.result import CheckResult


def check(
    program: str | Path | Callable[[], Any],
    *arguments: str,
    module: bool = False,
    runs: int = 2,
    steps: int | None = None,
    contract: str = "bitwise",
    pin: int | str | bool | None = None,
    vary: str | None = None,
    sequential: bool = False,
    timeout: float | None = None,
    diagnose: bool = True,
    budget: float | None = None,
) -> CheckResult:
    """Run a program in twin processes and compare every step. `program` is a path, a module name (with `module=True`),
    or a function of an importable module that takes no arguments."""
    if callable(program):
        target, arguments = _as_program(program)
        module = True
    else:
        target = str(program)
    for name, value, least in (("runs", runs, 2), ("steps", steps, 1), ("timeout", timeout, 0)):
        if value is not None and not value >= least:
            raise UsageError(f"{name} must be at least {least}, not {value}")
    options = CheckOptions(
        program=Program(target, tuple(arguments), module),
        runs=runs,
        steps=steps,
        contract=parse_contract(contract),
        pin=_pin(pin),
        variation=parse_variation(vary),
        sequential=sequential,
        timeout=timeout,
    )
    if not diagnose:
        return run_check(options)
    from twinrun.diagnose.diagnosis import check_and_diagnose

    return check_and_diagnose(options, budget=budget)


def compare(a: str | Path, b: str | Path, contract: str = "bitwise") -> CheckResult:
    """Compare two recordings."""
    from twinrun.comparison.recordings import compare_recordings

    return compare_recordings(Path(a), Path(b), parse_contract(contract))


def _as_program(function: Callable[[], Any]) -> tuple[str, tuple[str, ...]]:
    """A function is run in fresh interpreters, so it must be possible to import it there: from where it was imported
    here."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        raise UsageError(
            f"{name or function!r} cannot be imported by a fresh interpreter",
            hint="define it at the top level of a module (not of the script itself), or give check() a path",
        )
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    levels = str(module).count(".") + (Path(file or "").stem == "__init__")
    root = str(Path(file).resolve().parents[levels]) if file else ""
    return "twinrun.twin.call", (str(module), name, root)


def _pin(pin: int | str | bool | None) -> Any:
    if pin is None or pin is False:
        return None
    from twinrun.protocol.pin import PinRequest

    return PinRequest.parse("" if pin is True else str(pin))
