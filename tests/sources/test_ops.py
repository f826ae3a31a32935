"""Two op traces: only an op whose inputs match and whose outputs do not may be blamed."""

from __future__ import annotations

from twinrun.protocol.evidence import TracedOp
from twinrun.sources.ops import first_culprit


def op(
    name: str, inputs: list[str | None], outputs: list[str | None], line: int = 1, *, stateful: bool = False
) -> TracedOp:
    return TracedOp(op=name, inputs=inputs, outputs=outputs, file="train.py", line=line, stateful=stateful)


def test_the_first_op_with_equal_inputs_and_other_outputs_is_blamed() -> None:
    a = [op("MatMul", ["1"], ["2"]), op("Bincount", ["2"], ["3"], 7), op("Mul", ["3"], ["4"])]
    b = [op("MatMul", ["1"], ["2"]), op("Bincount", ["2"], ["x"], 7), op("Mul", ["x"], ["y"])]
    culprit = first_culprit(a, b)
    assert culprit is not None and (culprit.op, culprit.line) == ("Bincount", 7)


def test_an_op_whose_inputs_differ_already_is_not_blamed() -> None:
    assert first_culprit([op("Mul", ["1"], ["2"])], [op("Mul", ["x"], ["y"])]) is None


def test_an_op_that_reads_a_state_no_input_shows_is_not_blamed() -> None:
    random = (op("RandomUniform", ["1"], [out], stateful=True) for out in ("2", "x"))
    assert first_culprit(*([one] for one in random)) is None
    for name, inputs in (("IteratorGetNext", [None]), ("ResourceGather", [None, "1"])):
        assert first_culprit([op(name, inputs, ["2"])], [op(name, inputs, ["x"])]) is None


def test_twins_that_went_different_ways_blame_no_op() -> None:
    assert first_culprit([op("Mul", ["1"], ["2"])], [op("Add", ["1"], ["3"])]) is None


def test_equal_traces_blame_no_op() -> None:
    assert first_culprit([op("Mul", ["1"], ["2"])], [op("Mul", ["1"], ["2"])]) is None


def test_of_several_ops_that_vary_the_one_that_training_needs_is_blamed() -> None:
    """A metric's comes first, and changes no weight."""

    def ops(counted: str, summed: str) -> list[TracedOp]:
        gradient = TracedOp(op="MatMul", inputs=["w", summed], outputs=[f"g{summed}"], gradient=True)
        return [
            op("MatMul", ["1"], ["w"]), op("DenseBincount", ["w"], [counted], 7), op("Mul", [counted], [f"m{counted}"]),
            op("UnsortedSegmentSum", ["w"], [summed], 9), gradient,
        ]  # fmt: skip

    found = first_culprit(ops("a", "s"), ops("b", "t"))
    assert found is not None and found.line == 9
    found = first_culprit(ops("a", "s"), ops("b", "t"), of_training=False)
    assert found is not None and found.line == 7
    found = first_culprit(ops("a", "s"), ops("b", "s"))  # nothing else varies
    assert found is not None and found.line == 7
