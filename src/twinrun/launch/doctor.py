"""What is pinned, as read back: in a program's own process after its imports and its own settings, or in a bare process
of this machine. And which points of the installed frameworks were found."""

from __future__ import annotations

import tempfile
from typing import Any

import msgspec

from twinrun.environment.environment import facts_of
from twinrun.environment.packages import normalised
from twinrun.errors import TwinrunError
from twinrun.frameworks.examine import Examined
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, RunResult, run_once
from twinrun.launch.twin_process import ABRUPTLY
from twinrun.masking import Masked
from twinrun.protocol import ControlState, Pin, PinRequest
from twinrun.protocol.registry import frameworks
from twinrun.twin.patch_table import Row
from twinrun.twin.readback import shortfalls

_BARE = "twinrun.frameworks.examine"


class CannotExamine(TwinrunError):
    """The process that was to be examined did not answer."""


class Examination(
    Masked, msgspec.Struct, frozen=True, tag_field="schema", tag="twinrun/doctor/1", rename={"request": "pin"}
):
    subject: str  # which process was read, in words
    controls: dict[str, ControlState]
    program: str | None = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    request: PinRequest | None = None

    @property
    def missing(self) -> list[str]:
        """Controls that are used here and do not hold."""
        return [name for name, state in self.controls.items() if state.used and not state.ok]

    @property
    def exit_code(self) -> int:
        strict = self.request is not None and self.request.strict
        return 2 if strict and shortfalls(self.controls) else 0

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self, enc_hook=str), "missing": self.missing}


def examine_machine(request: PinRequest | None) -> Examination:
    """A bare process: what a program that sets nothing itself would start with."""
    result, found = _run_bare(request)
    return _examined("a bare process of this machine", result, request, notes=tuple(found.notes))


def examine_program(
    program: Program, request: PinRequest | None, timeout: float | None = None
) -> Examination:
    """The program's own process, when it has made its first training step; or at its end, if it makes none."""
    with tempfile.TemporaryDirectory(prefix="twinrun-doctor-") as folder:
        result = _run(program, request, folder, timeout, own_view=True)
    when = "after its first training step" if result.steps else "at its end: it made no training step"
    failure = [result.reason] if result.exit_code and result.reason else []
    notes = (*failure, *filter(None, [result.in_place]), *result.facts.notes)
    return _examined(f"{program}, {when}", result, request, notes=notes, program=str(program))


def examine_patches() -> list[Row]:
    """Every point of every source, control and framework that is installed here, as found in a pinned process."""
    return _run_bare(PinRequest(), "all")[1].patches


def _run_bare(request: PinRequest | None, *arguments: str) -> tuple[RunResult, Examined]:
    with tempfile.TemporaryDirectory(prefix="twinrun-doctor-") as folder:
        result = _run(Program(_BARE, arguments, module=True), request, folder)
        lines = (result.recording / "stdout.txt").read_text().splitlines()
        try:
            return result, msgspec.json.decode(lines[-1], type=Examined)
        except (IndexError, msgspec.DecodeError):
            raise CannotExamine("the process to be examined did not answer") from None


def _run(
    program: Program,
    request: PinRequest | None,
    folder: str,
    timeout: float | None = None,
    *,
    own_view: bool = False,
) -> RunResult:
    interventions = () if request is None else (Pin(request),)
    options = RunOptions(
        program, 1, interventions, timeout, folder=folder, read_output=True, own_view=own_view
    )
    result = run_once(options)
    if not result.facts.controls:
        why = result.facts.controls_error or result.reason or ABRUPTLY
        raise CannotExamine(f"{program} could not be examined: {why}", hint="does it run with plain python?")
    return result


def _examined(subject: str, result: RunResult, request: PinRequest | None, **more: Any) -> Examination:
    loaded = facts_of(result.facts.environment, "packages").get("loaded", {})
    names = [normalised(name) for framework in frameworks() for name in framework.packages]
    versions = {name: loaded[name] for name in names if name in loaded}
    return Examination(subject, result.facts.controls, versions=versions, request=request, **more)
