"""An op that refuses to run because op determinism is on: recognised by its exception, and named (TW406)."""

from __future__ import annotations

import re
from types import TracebackType

from twinrun.findings.finding import Finding
from twinrun.twin.callers import is_users

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
    if node is not None:
        from twinrun.frameworks.tensorflow.nodes import find_node

        found = find_node(node.group(1))
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
