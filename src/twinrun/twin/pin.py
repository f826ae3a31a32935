"""`twinrun.pin(42)`: pin this process from inside, report what could not be pinned, and, with `pinned`, undo it
afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from twinrun.errors import CannotPin
from twinrun.findings.finding import Finding
from twinrun.protocol import ControlState, PinRequest, Undo
from twinrun.protocol.registry import controls, droppable, parse_pin
from twinrun.twin.callers import user_site
from twinrun.twin.pinning import apply, pin_now_and_later, watch_seeding
from twinrun.twin.pins import Pins
from twinrun.twin.readback import read_back, shortfalls
from twinrun.twin.refusal import explain_now
from twinrun.twin.session import current
from twinrun.twin.too_late import came_before, too_late


class PinWarning(UserWarning):
    """Something was asked to be pinned and is not."""


@dataclass
class PinReport:
    """What pinning did. `controls` is read back from the process; `not_applied` says what is missing, and
    why; `findings` what came too late. After `pinned`, `kept` says what could not be put back."""

    request: PinRequest
    controls: dict[str, ControlState] = field(repr=False)
    not_applied: tuple[str, ...] = ()
    left_off: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Everything that was asked for is pinned, and in time."""
        return not self.not_applied and not self.findings

    def __str__(self) -> str:
        lines = [f"twinrun.pin({self.request.seed}): everything asked for is pinned"]
        if not self.ok:
            lines = [f"twinrun.pin({self.request.seed}): not everything is pinned"]
            lines += [f"  {line}" for line in (*self.not_applied, *self.left_off)]
            lines += [f"  {finding.code} {finding.message}" for finding in self.findings]
        return "\n".join(lines)


def pin(
    seed: int = 42, *, strict: bool = False, device: str | None = None, allow: Iterable[str] | str = ()
) -> PinReport:
    """Pin every source of randomness that a running process can pin, and read it back. Call it first, before anything is
    drawn or built. `device` pins where ops run (`"cpu"`), and `allow` names codes to go on without (`"TW406"`: op determinism).

    What could not be pinned is reported in a warning and in the report; with `strict` it is an error, `CannotPin`.
    """
    request = parse_pin(_written(seed, strict, device, allow))
    pins = current().pins
    if pins.launched and pins.request is not None:
        return _already_pinned(pins, request)
    return _pin(*_as_allowed(request))


@contextmanager
def pinned(
    seed: int = 42, *, strict: bool = False, device: str | None = None, allow: Iterable[str] | str = ()
) -> Iterator[PinReport]:
    """`with twinrun.pinned(42) as report: …` pins as `pin` does, and afterwards puts back what can be put back; `report.kept`
    says what cannot."""
    pins = current().pins
    outer = pins.snapshot()
    pins.undo.clear()
    request, left_off = _as_allowed(parse_pin(_written(seed, strict, device, allow)))
    unwanted = [each for each in outer.undo if not request.wants(each[0])]
    report: PinReport | None = None
    try:
        _undo(pins, unwanted)  # the outer pin applied it, this one does not want it
        report = _pin(request, left_off, stack=3)
        yield report
    except Exception as problem:
        explain_now(problem)
        raise
    finally:
        kept = _undo(pins, pins.undo)
        pins.restore(outer)
        by_name = {control.name: control for control in controls()}
        for name, _ in unwanted:
            if outer.request is not None:
                apply(by_name[name], outer.request)
        if report is not None:
            report.kept = tuple(kept)


def _as_allowed(request: PinRequest) -> tuple[PinRequest, tuple[str, ...]]:
    """A launch can start again without a control that the program cannot run with; a running process cannot, so
    there the permission means: leave it off."""
    reasons = []
    for control in droppable(request):
        request = request.without(control.name)
        why = f"left off, as allow={control.refusal} permits; `twinrun run` would try it first"
        reasons.append(f"{control.name}: {why}")
    return request, tuple(reasons)


def _pin(request: PinRequest, left_off: tuple[str, ...] = (), stack: int = 2) -> PinReport:
    site = user_site()
    found = came_before()
    pins = current().pins
    unwanted = [each for each in pins.undo if not request.wants(each[0])]
    _undo(pins, unwanted)  # an earlier call applied it, this one does not want it
    pins.undo[:] = [each for each in pins.undo if each not in unwanted]
    pins.begin(request, launched=pins.launched)
    watch_seeding()
    pin_now_and_later(request)
    finding = too_late(found, *(site or (None, None)))
    controls = read_back(request)
    findings = () if finding is None else (finding,)
    report = PinReport(request, controls, tuple(shortfalls(controls)), left_off, findings)
    if finding is not None:
        pins.notice(finding)
    if not report.ok and request.strict:
        raise CannotPin(
            str(report),
            hint=f"start it with `twinrun run --pin={request.seed}`, which pins before the first line",
        )
    if not report.ok:
        warnings.warn(str(report), PinWarning, stacklevel=stack + 1)
    return report


def _already_pinned(pins: Pins, request: PinRequest) -> PinReport:
    """Under `twinrun run --pin` the launch has pinned already, earlier than the program could: its own call
    to pin another seed is the program's own later seeding, and wins as far as seeds go."""
    assert pins.request is not None
    if not pins.request.reseed and request.seed != pins.request.seed:
        return _pin(request, stack=3)
    controls = read_back(pins.request)
    return PinReport(pins.request, controls, tuple(shortfalls(controls)))


def _undo(pins: Pins, steps: list[tuple[str, Undo]]) -> list[str]:
    """The last first. Returns what could not be put back, and why."""
    kept = []
    for name, undo in reversed(steps):
        with pins.acting():
            try:
                reason = undo()
            except Exception as problem:
                reason = f"{type(problem).__name__}: {problem}"
        if reason is not None:
            kept.append(f"{name}: {reason}")
    return kept[::-1]


def _written(seed: int, strict: bool, device: str | None, allow: Iterable[str] | str) -> str:
    """The call as `--pin=` would write it, so that both are checked alike."""
    codes = [allow] if isinstance(allow, str) else list(allow)
    parts = [f"seed={seed}", *(["strict"] if strict else []), *([f"device={device}"] if device else [])]
    return ",".join([*parts, *(f"allow={code}" for code in codes if code)])
