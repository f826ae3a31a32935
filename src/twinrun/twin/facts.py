"""What a twin tells of itself at its end or when it is held. A part that cannot be gathered says so and stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinrun.twin.recorder import Watch


_OF_THE_PROGRAM = ("ledger", "inputs", "changed_inputs", "fresh_inputs")


def gather(watch: Watch) -> dict[str, Any]:
    # What the program did first: what follows after it reads streams and files itself.
    seen = {name: _told(watch, name.replace("_", " ")) for name in _OF_THE_PROGRAM}
    return {
        **seen,
        "environment": _environment(seen["inputs"]),
        "controls": _controls(watch.spec.pin),
        "pinning": _pinning(),
        "data": _told(watch, "data") if "data" in watch.answers else None,
        "notes": list(watch.notes),
        "failure": dict(watch.failure),
        "step": watch.step,
    }


def _environment(inputs: list[str]) -> dict[str, Any]:
    try:
        from twinrun.environment.capture import capture
    except ImportError:
        return {}
    try:
        document: dict[str, Any] = capture(data_files=inputs).as_json()
        return document
    except Exception as problem:
        return {"error": f"could not be read: {type(problem).__name__}: {problem}"}


def _controls(pin: dict[str, Any] | None) -> dict[str, Any]:
    try:
        from twinrun.protocol.pin import PinRequest
        from twinrun.twin.readback import read_back
    except ImportError:
        return {}
    try:
        state: dict[str, Any] = read_back(PinRequest.from_json(pin) if pin is not None else None)
        return state
    except Exception as problem:
        return {"error": f"could not be read back: {type(problem).__name__}: {problem}"}


def _pinning() -> list[dict[str, Any]]:
    from twinrun.launch.pin_outcome import told

    return told()


def _told(watch: Watch, what: str) -> list[Any]:
    tell = watch.answers.get(what)
    entries: list[Any] = tell({}) if tell else []
    return entries
