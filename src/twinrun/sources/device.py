"""The device: a CPU and a GPU round differently, and some ops compute something else altogether. Matters where twins are given
different ones (`--devices cpu,gpu`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from twinrun.protocol.evidence import MOST_SAMPLED, Evidence, Sample, TracedOp
from twinrun.protocol.source import Source
from twinrun.protocol.suspect import Remedy, Suspect
from twinrun.recording.frame import GIVEN

if TYPE_CHECKING:
    import numpy as np

    from twinrun.comparison.contract import Contract

_WORDS = {"init": "the initial weights", "batch": "the batches", "seed": "the seeds", "draw": "the seeds"}


class Parting(NamedTuple):
    """The first op that comes out outside of the contract, or of which each twin runs another, as both twins ran it."""

    ops: tuple[TracedOp, TracedOp]
    number: int  # ops before it

    @property
    def same(self) -> bool:
        return self.ops[0].op == self.ops[1].op


def first_outside(a: list[TracedOp], b: list[TracedOp], contract: str) -> Parting | None:
    """The first op whose samples are outside the contract. It is certain to be outside, though others may have been missed."""
    from twinrun.comparison.contract import parse_contract  # needs NumPy, which a program may not

    terms = parse_contract(contract)
    for number, (left, right) in enumerate(zip(a, b, strict=False)):
        parting = Parting((left, right), number)
        if not parting.same:
            return parting
        if left.outputs != right.outputs and not _within(left.samples, right.samples, terms):
            return parting
    return None


def _within(a: list[Sample | None], b: list[Sample | None], contract: Contract) -> bool:
    from twinrun.recording.pieces import decoded, dtype_of

    if not contract.numeric:  # bands are about metrics: no op is outside
        return not contract.bitwise

    def elements(sample: Sample) -> np.ndarray:
        count = len(sample.data) // dtype_of(sample.dtype).itemsize
        return decoded(memoryview(sample.data), sample.dtype, count)[0]

    return all(
        contract.holds(elements(left), elements(right))
        for left, right in zip(a, b, strict=False)
        if left is not None and right is not None
    )


class Device(Source):
    name = "device"
    codes = ("TW407",)

    def blame_device(self, evidence: Evidence) -> Suspect:
        one, other = evidence.devices
        first = evidence.first
        if first.phase in GIVEN:
            what = f"{_WORDS[first.phase]} are not the same on {one} and on {other} ({first.tensor})"
            return Suspect(self.name, self.code, what)
        what = f"what is computed on {one} and on {other} does not agree {_closely(evidence)}"
        # Products of 32-bit numbers are rounded to 10 bits on many GPUs unless that is switched off.
        remedy = Remedy("tensor-float-32", "tf.config.experimental.enable_tensor_float_32_execution(False)")
        suspect = Suspect(self.name, self.code, what, remedy=remedy)
        traces = evidence.traces
        parting = first_outside(traces[0].step, traces[1].step, evidence.contract) if traces else None
        return suspect if parting is None else _at_op(suspect, parting, evidence)


def _at_op(suspect: Suspect, parting: Parting, evidence: Evidence) -> Suspect:
    left, right = parting.ops
    layer = f" of layer {left.layer}" if left.layer else ""
    role = f", the gradient of {left.forward}," if left.gradient and left.forward else ""
    one, other = evidence.devices
    what = f"{left.op}{layer}{role} is the first op whose results on {one} and {other} do not agree {_closely(evidence)}"
    if not parting.same:
        what = f"{one} and {other} run different ops here, {left.op} and {right.op}{layer}"
    equal = left.inputs == right.inputs and None not in left.inputs and not left.stateful
    inputs = "with equal inputs" if equal else "with inputs that may have differed"
    if left.device == right.device:
        where = (
            f"placement is ruled out: it ran on {left.device or 'the same device'} in both twins, {inputs}"
        )
    else:
        where = f"placement: it ran on {left.device} in one twin and on {right.device} in the other, {inputs}"
    before = f"run op by op, {parting.number} ops came before it, and up to {MOST_SAMPLED} elements of each result were compared"
    return replace(suspect, message=what, file=left.file, line=left.line, notes=(where, before))


def _closely(evidence: Evidence) -> str:
    return "bit for bit" if evidence.contract == "bitwise" else f"within {evidence.contract}"
