"""Ops that give different results for the same inputs, found by comparing two traces op by op; and the threads of the
libraries below the frameworks, which decide in what order they sum."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from twinrun.knowledge.refused_ops import INSTEAD
from twinrun.protocol import Control, NotApplied, PinRequest, Reading, SetBy, Source, Suspect, Undo
from twinrun.protocol.evidence import Evidence, Trace, TracedOp
from twinrun.protocol.suspect import Remedy
from twinrun.twin.callers import unseen
from twinrun.twin.session import current

# Variables that give libraries below a framework their number of threads.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_OPENBLAS = ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads64_", "openblas_get_num_threads")


def first_culprit(a: list[TracedOp], b: list[TracedOp], *, of_training: bool = True) -> TracedOp | None:
    """The first op whose inputs match and whose outputs do not. `of_training`: of several the first that has to do with
    gradients, if one has: what a metric makes of a result changes no weight."""
    found = list(_culprits(a, b))
    if of_training and len(found) > 1:
        around = {id(op) for op in (*_leading_to_gradients(a), *_made_of_gradients(a))}
        found.sort(key=lambda op: id(op) not in around)
    return found[0] if found else None


def _culprits(a: list[TracedOp], b: list[TracedOp]) -> Iterator[TracedOp]:
    known: set[str | None] = set()  # what differs because of one that was found
    for left, right in zip(a, b, strict=False):
        if left.op != right.op:
            return  # the twins went different ways: no op can be blamed by position
        if left.outputs == right.outputs:
            continue
        differing = {one for one, other in zip(left.inputs, right.inputs, strict=False) if one != other}
        if left.stateful or None in left.inputs or not differing <= known:
            return  # what came in differed already, or may have: the cause lies before this op
        if not differing:
            yield left
        known.update(left.outputs)


def _leading_to_gradients(ops: list[TracedOp]) -> Iterator[TracedOp]:
    """Tensors are told apart by their digests."""
    wanted: set[str | None] = set()
    for op in reversed(ops):
        if op.gradient or not wanted.isdisjoint(op.outputs):
            wanted.update(op.inputs)
            yield op


def _made_of_gradients(ops: list[TracedOp]) -> Iterator[TracedOp]:
    made: set[str | None] = set()
    for op in ops:
        if op.gradient or not made.isdisjoint(op.inputs):
            made.update(op.outputs)
            yield op


def available_cpus() -> int:
    """The CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_variable(name: str) -> int | None:
    """The number of threads that a variable asks for, if it does."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def _wanted(request: PinRequest) -> int:
    """A number that somebody chose for this machine is kept, unless the request asks for another."""
    return request.threads or thread_variable("OMP_NUM_THREADS") or available_cpus()


def _variables(request: PinRequest) -> Mapping[str, str]:
    count = _wanted(request)
    fixed = {name: str(request.threads or thread_variable(name) or count) for name in _VARIABLES}
    return {**fixed, "OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}


def _apply(request: PinRequest) -> Undo:
    wanted = _wanted(request)
    if _openblas_threads() not in (None, wanted):
        raise NotApplied(
            f"NumPy was already imported with {_openblas_threads()} threads; start the program with "
            f"`twinrun run --pin={request.seed}`, or with OMP_NUM_THREADS={wanted}"
        )
    return current().pins.set_variables(_variables(request))


def _read(request: PinRequest | None) -> Reading:
    written = os.environ.get("OMP_NUM_THREADS")
    effective = _openblas_threads()
    state = {"OMP_NUM_THREADS": written, "openblas": effective}
    if effective is None and written is None:
        return Reading(state, "default", False, "as many threads as the machine has processors")
    if written is None:
        why = f"{effective} here, because the machine has as many processors"
        return Reading(state, "default", False, why)
    ours = current().pins.environment.get("OMP_NUM_THREADS") == written
    set_by: SetBy = "twinrun" if ours else "environment"
    if effective is not None and str(effective) != (os.environ.get("OPENBLAS_NUM_THREADS") or written):
        return Reading(state, set_by, False, "the variable was changed after NumPy had been imported")
    return Reading(state, set_by, True)


def _openblas_threads() -> int | None:
    """As NumPy's own OpenBLAS reports, where it is loaded and can be asked."""
    if "numpy" not in sys.modules:
        return None
    for library in _loaded("openblas"):
        try:
            handle = ctypes.CDLL(library)
        except OSError:
            continue
        for name in _OPENBLAS:
            if hasattr(handle, name):
                return int(getattr(handle, name)())
    return None


def _loaded(part: str) -> list[str]:
    """The files of loaded libraries with this in their name."""
    try:
        with unseen():
            lines = [line.split(None, 5) for line in Path("/proc/self/maps").read_text().splitlines()]
    except OSError:
        return []
    return sorted({words[5] for words in lines if len(words) == 6 and part in words[5]})


class Ops(Source):
    name = "ops"
    codes = ("TW401",)
    controls = (
        Control(
            name="openmp-threads",
            protects="the order of sums in NumPy's and other libraries' own threads (OpenMP, MKL, OpenBLAS)",
            moment="before NumPy is imported",
            how="start the program with OMP_NUM_THREADS=1 (or another fixed number)",
            wanted=_wanted,
            apply=_apply,
            read=_read,
            at_launch=_variables,
        ),
    )

    def blame_op(self, traces: tuple[Trace, Trace], evidence: Evidence, *, pipeline: bool) -> Suspect | None:
        a, b = ((trace.pipeline if pipeline else trace.step) for trace in traces)
        culprit = first_culprit(a, b, of_training=evidence.first.phase in ("loss", "gradient", "weights"))
        if culprit is None:
            return None
        layer = f" of layer {culprit.layer}" if culprit.layer else ""
        role = f", the gradient of {culprit.forward}," if culprit.gradient and culprit.forward else ""
        where = "the input pipeline" if pipeline else "the step"
        notes = [f"{culprit.op} is the first op whose inputs match bit for bit and whose output does not"]
        first = evidence.first
        if first.max_abs is not None:
            ulp = f", {first.near} ULP" if first.near is not None else ""
            # Functions run eagerly there, so its figures and steps may not be those of the check.
            notes.append(f"in the traced run, {first.tensor} then differs by up to {first.max_abs:.3g}{ulp}")
        return Suspect(
            source=self.name,
            code="TW401",
            message=f"{culprit.op}{layer}{role} gives different results for the same inputs",
            file=culprit.file,
            line=culprit.line,
            notes=tuple(notes),
            experiment=f"comparing the {len(a)} ops of {where} between traced twins, up to step {first.step} of that run",
            remedy=Remedy("op-determinism", "enable_op_determinism", INSTEAD.get(culprit.op, "")),
        )
