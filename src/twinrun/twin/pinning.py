"""Applying controls in this process: what needs no library now, and the rest right after each library is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from twinrun.protocol import Control, NotApplied, PinRequest
from twinrun.protocol.registry import controls, sources
from twinrun.twin.imports import when_imported
from twinrun.twin.refusal import explain_at_exit
from twinrun.twin.session import current


def wanted_controls(request: PinRequest) -> Iterator[Control]:
    """The controls that the request asks for, in order."""
    return (each for each in controls() if request.wants(each.name) and each.wanted(request) is not None)


def launch_environment(request: PinRequest) -> dict[str, str]:
    """The variables to start a twin with. Called in the parent: imports no framework."""
    return {
        name: value
        for control in wanted_controls(request)
        for name, value in control.at_launch(request).items()
    }


def install_pin(request: PinRequest | None) -> None:
    """Inside a twin, before the program. Without a request seedings are watched all the same, by the points of the
    sources, so that they can be read back."""
    pins = current().pins
    pins.begin(request, launched=True)
    pins.watching = True
    explain_at_exit()
    if request is None:
        return
    wanted = launch_environment(request)
    pins.environment.update({name: value for name, value in wanted.items() if os.environ.get(name) == value})
    pin_now_and_later(request)


def watch_seeding() -> None:
    """In a process that is no twin: see who seeds what from here on. Changes nothing of what the calls do."""
    session = current()
    if not session.pins.watching:
        session.pins.watching = True
        for source in sources():
            seedings = [point for point in source.points if "pin" in point.needed_for]
            session.patches.install(source.name, seedings)


def pin_now_and_later(request: PinRequest) -> None:
    if any(control.refusal for control in wanted_controls(request)):
        explain_at_exit()
    for control in wanted_controls(request):
        if control.module is None:
            apply(control, request)
        else:
            when_imported(control.module, _applier(request, control))


def _applier(request: PinRequest, control: Control) -> Callable[[object], None]:
    def pin_now(_: object) -> None:
        if current().pins.request is request:  # else a later request, from inside the program, has taken over
            apply(control, request)

    return pin_now


def apply(control: Control, request: PinRequest) -> None:
    """Apply one control in this process; what cannot be applied is kept, with the reason."""
    session = current()
    pins = session.pins
    try:
        session.patches.install(control.name, control.points)
        missing = [
            row
            for row in session.patches.rows()
            if row.owner == control.name and row.status == "missing" and "pin" in row.needed_for
        ]
        if missing:
            raise NotApplied("; ".join(row.why for row in missing))
        undo = control.apply(request)
        if undo is not None:
            pins.undo.append((control.name, undo))
    except NotApplied as reason:
        pins.refused[control.name] = str(reason)
    except Exception as problem:  # a library that changed: say so, and let the program run
        pins.refused[control.name] = f"{type(problem).__name__}: {problem}"
    else:
        pins.applied[control.name] = control.wanted(request)
