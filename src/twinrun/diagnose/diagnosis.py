"""From `diverges` to the cause."""

from __future__ import annotations

from twinrun.launch.check import CheckOptions, Screen, run_check
from twinrun.result import CheckResult


def check_and_diagnose(options: CheckOptions, screen: Screen | None = None, budget: float | None = None) -> CheckResult:
    return run_check(options, screen)
