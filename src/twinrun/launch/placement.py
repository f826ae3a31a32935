"""Twins that were given devices: whether each was on its own. What was to run on a GPU and did not says nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from twinrun.protocol import Facts
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, DeviceUse


def devices_used(given: Sequence[str], facts: Sequence[Facts]) -> tuple[DeviceUse, ...]:
    placed = [each.placed for each in facts] if len(facts) == len(given) else [{} for _ in given]
    return tuple(DeviceUse(name, variables) for name, variables in zip(given, placed, strict=True))


def judge_placement(result: CheckResult, twins: Sequence[str]) -> CheckResult:
    """Twins of which one was not where it should have been do not show what a device does."""
    found = (misplaced(twin, use) for twin, use in zip(twins, result.devices, strict=False))
    wrong = next((each for each in found if each is not None), None)
    if wrong is None or result.verdict not in (REPEATS, DIVERGES):
        return result
    if result.verdict == DIVERGES:  # which they do, wherever they ran
        return result.replace(notes=(*result.notes, wrong))
    return result.replace(verdict=UNDECIDED, reason=wrong, reason_kind="not-comparable")


def misplaced(twin: str, use: DeviceUse) -> str | None:
    """Why this twin was not on its device, in a sentence; None where it was. Some variables of a program on a GPU lie in the
    memory of the host; one is enough to show that it was used."""
    kind = use.device.partition(":")[0].upper()
    there = {name for name in use.variables if name.startswith(f"{kind}:")}
    count = sum(use.variables.values())
    if kind != "CPU" and not there:
        which = f"none of its {count} variables lay there" if count else "no variable of it was seen there"
        return f"twin {twin} was given {use.device}, and {which}: the program may choose its device itself"
    elsewhere = sorted(use.variables.keys() - there)
    if kind == "CPU" and elsewhere:
        where = ", ".join(elsewhere)
        return f"twin {twin} was given {use.device}, and some of its variables were on {where}: the program may choose its device itself"
    return None
