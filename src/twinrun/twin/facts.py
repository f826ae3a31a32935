"""What a twin reports of itself at its end or when it is held. A part that cannot be gathered says so and stops
nothing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from twinrun.masking import Secrets, masked
from twinrun.protocol import ControlState, Facts
from twinrun.protocol.facts import Inputs
from twinrun.twin.no_step import why_no_step

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder

_WRITTEN = ("environment", "controls", "controls_error", "findings", "datasets", "notes", "no_step")
_process_id, _parent_id = os.getpid, os.getppid  # before a source replaces them


def gather(recorder: Recorder) -> Facts:
    """What is written down of it is masked. The rest (events, files, the failure) is what the parent works with."""
    facts = _gathered(recorder)
    written = {name: getattr(facts, name) for name in _WRITTEN}
    secrets = Secrets.of(sys.orig_argv, os.environ, show=recorder.spec.show_arguments)
    return replace(facts, **masked(written, secrets))


def _gathered(recorder: Recorder) -> Facts:
    session = recorder.session
    # What the program did comes first: what follows after it reads streams and files itself.
    events = session.log.events() if recorder.spec.events else []
    inputs = session.inputs.report() if session.inputs is not None else Inputs()
    if recorder.is_child and recorder.family.worker is None:  # the rest is as in the program itself
        notes, findings = list(dict.fromkeys(session.notes)), list(session.pins.findings)
        return Facts(
            step=recorder.step, events=events, inputs=inputs, notes=notes, findings=findings, placed=recorder.placed(),
            replicated=recorder.replicated(), unrepeatable=recorder.unrepeatable,
        )  # fmt: skip
    if recorder.spec.workers and not recorder.is_child:  # the rest is for the workers to say
        notes = list(dict.fromkeys(session.notes))
        return Facts(process=_process_id(), parent=_parent_id(), notes=notes, worker_end=recorder.worker_end)
    controls, error = _controls()
    return Facts(
        step=recorder.step,
        process=_process_id(),
        parent=_parent_id(),
        children=recorder.family.children,
        events=events,
        inputs=inputs,
        environment=_environment(inputs.paths),
        controls=controls,
        controls_error=error,
        findings=list(session.pins.findings),
        datasets=session.audited() if recorder.spec.audit_until is not None and session.audited else None,
        notes=list(dict.fromkeys(session.notes)),
        failure=recorder.failure,
        roles=recorder.roles(),
        placed=recorder.placed(),
        replicated=recorder.replicated(),
        unrepeatable=recorder.unrepeatable,
        share=recorder.share.report() if recorder.share is not None else None,
        no_step=None if recorder.observed else why_no_step(recorder),
    )


def _environment(inputs: list[str]) -> dict[str, Any]:
    from twinrun.environment.capture import capture

    try:
        document: dict[str, Any] = capture(data_files=inputs).as_json()
        return document
    except Exception as problem:
        return {"error": f"could not be read: {type(problem).__name__}: {problem}"}


def _controls() -> tuple[dict[str, ControlState], str | None]:
    from twinrun.twin.readback import read_back

    try:
        return read_back(), None
    except Exception as problem:
        return {}, f"could not be read back: {type(problem).__name__}: {problem}"
