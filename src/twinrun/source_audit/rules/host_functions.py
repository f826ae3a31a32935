"""Functions that TensorFlow calls back on the host: `py_function`, `numpy_function`, `from_generator`.

Python or NumPy randomness inside them is TW204: unseeded, or raced for when the map around them is parallel.
"""

from __future__ import annotations

from twinrun.knowledge.functions import Kind
from twinrun.source_audit.abstract_values import Arguments, Value, total
from twinrun.source_audit.containers import element_of
from twinrun.source_audit.marks import NONE, Marks
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.rules.datasets import dataset


def _result_marks(call: Call, function: Value | None, args: list[Value]) -> Marks:
    """The marks of what a function returns that is called later, on the host."""
    marks: Marks = NONE
    with call.state.collecting("host"), call.state.during(deferring=True):
        for each in function.each() if function is not None else ():
            result = each
            if each.kind in ("function", "partial", "instance"):
                result = call.invoke(each, Arguments(args))
            elif each.kind not in ("generator", "list"):
                continue
            marks |= total(result) | total(element_of(result))
    return marks


def _py_function(call: Call) -> Value:
    inputs = call.argument(1, "inp")
    args = call.items(1, "inp")
    if inputs is not None and inputs.items is None:
        args = [element_of(inputs)]
    marks = call.marks | _result_marks(call, call.argument(0, "func"), args)
    return Value("object", marks, path="tensorflow.Tensor")


def _from_generator(call: Call) -> Value:
    marks = call.marks | _result_marks(call, call.argument(0, "generator"), call.items(None, "args"))
    return dataset(call.reach_dataset(marks))


KINDS: dict[tuple[Kind, str], Handler] = {(Kind.HOST_CALL, ""): _py_function}
FUNCTIONS: dict[str, Handler] = {"tensorflow.data.Dataset.from_generator": _from_generator}
