"""Functions that TensorFlow calls back on the host: `py_function`, `numpy_function`, `from_generator`.

Python or NumPy randomness inside them is TW204: unseeded, or raced when the map around them is parallel.
"""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.containers import element_of
from twinrun.audit.dataset import dataset
from twinrun.audit.marks import NONE, Marks
from twinrun.audit.values import Thing, total


def _called_back(call: Call, function: Thing | None, args: list[Thing]) -> Marks:
    """What a function gives that is called later, on the host."""
    if function is None:
        return NONE
    marks: Marks = NONE
    with call.world.collecting("host"), call.world.deferred():
        for each in function.each():
            if each.kind in ("function", "partial", "instance"):
                result = calls.call_thing(call.world, call.frame, call.node, each, Arguments(args))
            elif each.kind in ("generator", "list"):
                result = each
            else:
                continue
            marks |= total(result) | total(element_of(result))
    return marks


def _py_function(call: Call) -> Thing:
    inputs = call.argument(1, "inp")
    args: list[Thing] = []
    if inputs is not None:
        args = list(inputs.items) if inputs.items is not None else [element_of(inputs)]
    marks = call.marks | _called_back(call, call.argument(0, "func"), args)
    return Thing("object", marks, path="tensorflow.Tensor")


def _from_generator(call: Call) -> Thing:
    given = call.argument(None, "args")
    args = list(given.items) if given is not None and given.items is not None else []
    marks = call.marks | _called_back(call, call.argument(0, "generator"), args)
    call.world.reach_dataset(marks, call.frame, call.node)
    return dataset(marks)


FUNCTIONS: dict[str, Handler] = {
    "tensorflow.py_function": _py_function,
    "tensorflow.numpy_function": _py_function,
    "tensorflow.compat.v1.py_func": _py_function,
    "tensorflow.data.Dataset.from_generator": _from_generator,
}
