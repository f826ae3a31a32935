"""Exceptions that a framework can explain, such as an op that refuses to run under a control: kept as findings for the
result and, where Twinrun set the control, printed."""

from __future__ import annotations

import sys
from types import TracebackType

from twinrun.findings.finding import Finding
from twinrun.protocol.registry import frameworks
from twinrun.twin.session import current


def explain_at_exit() -> None:
    """When such an exception ends the program, say what it means, below the traceback."""
    before = sys.excepthook
    if getattr(before, "_twinrun_explains", False):
        return

    def excepthook(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        before(kind, problem, trace)
        explain_now(problem)

    excepthook._twinrun_explains = True  # type: ignore[attr-defined]
    sys.excepthook = excepthook


def explain_now(problem: BaseException) -> None:
    """Say what such an exception means. Once: it may pass here several times."""
    if problem in _explained:
        return
    finding = _explain(problem)
    if finding is not None:
        _explained.append(problem)
        pins = current().pins
        pins.notice(finding)
        if pins.request is None:  # the program has set the control, and its output stays its own
            return
        lines = [f"{finding.code} {finding.name}: {finding.message}"]
        if finding.place:
            lines.append(f"  --> {finding.place}")
        print("\n" + "\n".join([*lines, f"hint: {finding.fix}"]), file=sys.stderr)


_explained: list[BaseException] = []


def _explain(problem: BaseException) -> Finding | None:
    for framework in frameworks():
        try:
            found = framework.explain(problem) if framework.module in sys.modules else None
        except Exception:  # never stand in the way of the program's own error
            found = None
        if found is not None:
            return found
    return None
