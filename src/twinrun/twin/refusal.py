"""An op that refuses to run because op determinism is on: recognised, named (TW406), and gone on without
where the user allows it. Framework-free; where the op stands in the program is looked up by the adapter."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from types import TracebackType

from twinrun.findings.finding import Finding
from twinrun.protocol.pin import PinRequest
from twinrun.twin.callers import is_users
from twinrun.twin.pins import current

_SPEAKS_OF_IT = re.compile(r"determinis[mt]", re.IGNORECASE)
_NEEDS_A_SEED = re.compile(r"random ops (must have|require) a seed", re.IGNORECASE)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_EAGER_OP = re.compile(r"\[Op:(\w+)\]")


def explain(problem: BaseException) -> Finding | None:
    """The finding behind an exception, or None if it is not op determinism's."""
    message = str(problem)
    if not _SPEAKS_OF_IT.search(message) or not _is_tensorflows(problem):
        return None
    op, layer, file, line = _locate(problem, message)
    first = message.strip().splitlines()[0]
    evidence = [f"{type(problem).__name__}: {_said(message)}"]
    if op:
        evidence.append(f"op {op}" + (f" of layer {layer}" if layer else ""))
    if _NEEDS_A_SEED.search(first):
        return Finding(
            code="TW104",
            name="unseeded-tensorflow",
            message=f"{op or 'a random op'} was given no seed, and op determinism does not run it without",
            file=file,
            line=line,
            confirmed=True,
            evidence=tuple(evidence),
            fix="give the op a seed, or use its tf.random form, which takes the global seed",
        )
    what = (op or "an op") + (f" in layer {layer}" if layer else "")
    return Finding(
        code="TW406",
        name="no-deterministic-kernel",
        message=f"{what} has no deterministic implementation here, and op determinism refuses to run it",
        file=file,
        line=line,
        confirmed=True,
        evidence=tuple(evidence),
        fix="replace the op, or go on without op determinism: --pin=allow=TW406",
    )


def without_refused(request: PinRequest, findings: Iterable[Finding]) -> PinRequest | None:
    """The request to start again with, where a refusal is among the findings and the user allows to go on;
    else None."""
    refused = any(finding.code == "TW406" for finding in findings)
    if refused and "TW406" in request.allow and request.wants("op-determinism"):
        return request.without("op-determinism")
    return None


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
    """Say on the screen what such an exception means. Once: it may pass here several times."""
    if problem in _explained:
        return
    finding = note(problem)
    if finding is not None:
        _explained.append(problem)
        print(f"\n{in_words(finding)}", file=sys.stderr)


_explained: list[BaseException] = []


def note(problem: BaseException) -> Finding | None:
    """Explain, and keep the finding for the result."""
    try:
        finding = explain(problem)
    except Exception:  # never stand in the way of the program's own error
        return None
    if finding is not None:
        current().note(finding)
    return finding


def in_words(finding: Finding) -> str:
    lines = [f"{finding.code} {finding.name}: {finding.message}"]
    if finding.place:
        lines.append(f"  --> {finding.place}")
    return "\n".join([*lines, f"hint: {finding.fix}"])


def _is_tensorflows(problem: BaseException) -> bool:
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    raised_in = "" if frame is None else frame.tb_frame.f_globals.get("__name__", "")
    return type(problem).__module__.startswith("tensorflow") or str(raised_in).startswith("tensorflow")


def _said(message: str) -> str:
    """The one sentence that speaks of it, out of a message of many lines."""
    sentence = next(line for line in message.splitlines() if _SPEAKS_OF_IT.search(line))
    return re.sub(r"\{\{function_node [^}]*\}\}|\[Op:.*$|\[\[.*$", "", sentence).strip()


def _locate(problem: BaseException, message: str) -> tuple[str | None, str | None, str | None, int | None]:
    """Op, layer, file and line. A node of a graph knows where it was made; an eager op is where the error
    came from."""
    node = _NODE.search(message)
    if node is not None and "tensorflow" in sys.modules:
        found = import_module("twinrun.frameworks.tensorflow.nodes").find_node(node.group(1))
        if found is not None and found.file is not None:
            return found.op, found.layer, found.file, found.line
    eager = _EAGER_OP.search(message)
    op = eager.group(1) if eager and not eager.group(1).startswith("__") else None
    file, line = _user_line(problem.__traceback__)
    return op or (node.group(1).rsplit("/", 1)[-1] if node else None), None, file, line


def _user_line(trace: TracebackType | None) -> tuple[str | None, int | None]:
    found: tuple[str | None, int | None] = (None, None)
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found
