"""The first op that is outside the contract, of two traces of the same step on different devices."""

from __future__ import annotations

import numpy as np
import pytest

from twinrun.comparison.frames import Difference
from twinrun.protocol.evidence import Evidence, Sample, Trace, TracedOp
from twinrun.sources.device import Device, first_outside

AUTO = "rtol=auto,atol=auto"


def op(name: str, value: float, device: str, kind: str = "float32", **more: object) -> TracedOp:
    data = np.full(4, value).astype(kind)
    outputs: list[str | None] = [data.tobytes().hex()]
    samples: list[Sample | None] = [Sample(kind, data.tobytes())]
    found = TracedOp(op=name, inputs=[], outputs=outputs, device=device, samples=samples)
    for field, each in more.items():
        setattr(found, field, each)
    return found


CPU = [
    op("Mul", 1.0, "CPU:0"),
    op("MatMul", 2.0, "CPU:0", file="/x/train.py", line=7, layer="dense"),
    op("Exp", 9.0, "CPU:0"),
]


def test_bits_that_differ_within_the_contract_are_passed_over() -> None:
    gpu = [op("Mul", 1.0001, "GPU:0"), op("MatMul", 2.01, "GPU:0"), op("Exp", 20.0, "GPU:0")]
    found = first_outside(CPU, gpu, AUTO)
    assert found is not None and found.ops == (CPU[1], gpu[1]) and (found.number, found.same) == (1, True)
    assert first_outside(CPU, gpu, "bitwise") == ((CPU[0], gpu[0]), 0)
    assert first_outside(CPU, gpu, "rtol=2") is None
    assert first_outside(CPU, gpu, "band=loss:1%") is None


def test_the_width_is_that_of_the_type() -> None:
    wide, narrow = ([op("Mul", 1.0 + gap, "CPU:0", "float64")] for gap in (0.0, 1e-6))
    assert first_outside(wide, narrow, AUTO) is not None
    wide, narrow = ([op("Mul", 1.0 + gap, "CPU:0", "float32")] for gap in (0.0, 1e-6))
    assert first_outside(wide, narrow, AUTO) is None


def test_where_each_device_runs_another_op_that_is_where_they_part() -> None:
    found = first_outside(CPU, [CPU[0], op("CudnnRNNV3", 2.0, "GPU:0")], AUTO)
    assert found is not None and not found.same and found.number == 1


def blamed(gpu: list[TracedOp], phase: str = "weights") -> tuple[str, tuple[str, ...], int | None]:
    evidence = Evidence(
        Difference(3, phase, "dense/kernel"), traces=(Trace(CPU), Trace(gpu)), devices=("cpu", "gpu"), contract=AUTO
    )  # fmt: skip
    found = Device().blame_device(evidence)
    return found.message, found.notes, found.line


def test_placement_is_named_where_it_differs_and_ruled_out_where_it_does_not() -> None:
    message, notes, line = blamed([CPU[0], op("MatMul", 2.1, "GPU:0")])
    assert message.startswith(
        "MatMul of layer dense is the first op whose results on cpu and gpu do not agree"
    )
    assert line == 7
    assert notes[0] == "placement: it ran on CPU:0 in one twin and on GPU:0 in the other, with equal inputs"
    _, notes, _ = blamed([CPU[0], op("MatMul", 2.1, "CPU:0")])
    assert notes[0] == "placement is ruled out: it ran on CPU:0 in both twins, with equal inputs"


@pytest.mark.parametrize(("phase", "words"), [("init", "the initial weights"), ("batch", "the batches")])
def test_of_what_must_be_equal_no_op_is_blamed(phase: str, words: str) -> None:
    message, notes, line = blamed([CPU[0], op("MatMul", 2.1, "GPU:0")], phase)
    assert message == f"{words} are not the same on cpu and on gpu (dense/kernel)"
    assert notes == () and line is None
