"""Every control as it really is, now, in this process: the state read back, who set it, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from twinrun.protocol import Control, ControlState, PinRequest, Reading
from twinrun.protocol.registry import controls
from twinrun.twin.session import current


def read_back(request: PinRequest | None = None) -> dict[str, ControlState]:
    """Each control by name. `request` None: the one in force in this process, if there is one."""
    request = request if request is not None else current().pins.request
    return {control.name: _state(control, request) for control in controls()}


def _state(control: Control, request: PinRequest | None) -> ControlState:
    wanted = control.wanted(request) if request is not None and request.wants(control.name) else None
    used = control.module is None or control.module in sys.modules
    absent = Reading(f"{control.module} is not imported", "default", True)
    reading = _read(control, request) if used else absent
    ok, why_not = reading.ok, None if reading.ok else reading.why_not
    pins = current().pins
    refused = pins.refused.get(control.name) if wanted is not None else None
    replaced = reading.set_by == "twinrun" and bool(pins.replaced)
    if refused is not None and reading.set_by != "program":
        ok, why_not = False, refused
    return ControlState(
        state=reading.state,
        requested=wanted,
        set_by=reading.set_by,
        place=reading.place,
        protects=control.protects,
        ok=ok,
        why_not=why_not,
        changed=wanted is not None and used and not replaced and _is_changed(reading, wanted),
        used=used,
        idle=reading.idle,
        moment=control.moment,
        how=control.how,
    )


def _is_changed(reading: Reading, wanted: Any) -> bool:
    """Whether the program changed it: by its own settings, or by calling `twinrun.pin` with another seed."""
    if reading.set_by == "program":
        return True
    state = reading.state
    if not (isinstance(wanted, Mapping) and isinstance(state, Mapping) and "seed" in state):
        return False
    return bool(state["seed"] != wanted.get("seed"))


def _read(control: Control, request: PinRequest | None) -> Reading:
    try:
        return control.read(request)
    except Exception as problem:  # what cannot be read is not known to be pinned
        return Reading("unreadable", "default", False, f"{type(problem).__name__}: {problem}")


def shortfalls(readings: Mapping[str, ControlState]) -> list[str]:
    """What was asked for and is not there, one sentence each. Empty: the pin holds."""
    return [
        f"{name}: {state.why_not or 'not as asked for'}"
        for name, state in readings.items()
        if state.requested is not None and not state.ok
    ]


def changes(readings: Mapping[str, ControlState]) -> list[str]:
    """What the program has set itself after it was pinned, one sentence each."""
    return [
        f"{name}: the program set it to {_plain(state.state)}" + (f" at {state.place}" if state.place else "")
        for name, state in readings.items()
        if state.changed
    ]


def _plain(state: Any) -> str:
    if isinstance(state, Mapping):
        return ", ".join(f"{key} {value}" for key, value in state.items())
    return str(state)
