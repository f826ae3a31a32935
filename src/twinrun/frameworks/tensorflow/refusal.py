"""Ops that refuse to run because op determinism is on, recognised by their exception (TW406, or TW104 for one without a
seed)."""

from __future__ import annotations

import re
from types import TracebackType

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.twin.callers import is_users

_MENTIONS_IT = re.compile(r"determinis[mt]", re.IGNORECASE)
_NEEDS_A_SEED = re.compile(r"random ops (must have|require) a seed", re.IGNORECASE)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_EAGER_OP = re.compile(r"\[Op:(\w+)\]")


def explain(problem: BaseException) -> Finding | None:
    """The finding behind an exception, or None if op determinism did not raise it."""
    message = str(problem)
    if not _MENTIONS_IT.search(message) or not _is_tensorflows(problem):
        return None
    op, layer, file, line = _locate(problem, message)
    evidence = [f"{type(problem).__name__}: {_sentence(message)}"]
    if op:
        evidence.append(f"op {op}" + (f" of layer {layer}" if layer else ""))
    if _NEEDS_A_SEED.search(message.strip().splitlines()[0]):
        code = "TW104"
        text = f"{op or 'a random op'} has no seed, and op determinism refuses to run it without one"
        fix = "give the op a seed, or use its tf.random form, which takes the global seed"
    else:
        code = "TW406"
        what = (op or "an op") + (f" in layer {layer}" if layer else "")
        text = f"{what} has no deterministic implementation here, and op determinism refuses to run it"
        fix = "replace the op, or go on without op determinism: --pin=allow=TW406"
    return finding(code, text, file=file, line=line, confirmed=True, evidence=evidence, fix=fix)


def _is_tensorflows(problem: BaseException) -> bool:
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    raised_in = "" if frame is None else frame.tb_frame.f_globals.get("__name__", "")
    return type(problem).__module__.startswith("tensorflow") or str(raised_in).startswith("tensorflow")


def _sentence(message: str) -> str:
    """The line that mentions it, out of a long message."""
    sentence = next(line for line in message.splitlines() if _MENTIONS_IT.search(line))
    return re.sub(r"\{\{function_node [^}]*\}\}|\[Op:.*$|\[\[.*$", "", sentence).strip()


def _locate(problem: BaseException, message: str) -> tuple[str | None, str | None, str | None, int | None]:
    """Op, layer, file and line: where the node of a graph was made, or where an eager op raised."""
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
