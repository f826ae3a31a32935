"""Ops that may not be blamed for a difference, though their inputs are equal: what they give depends on more."""

from __future__ import annotations

from support import python

PROGRAM = """
import json
from twinrun.frameworks.tensorflow.optrace import _is_stateful

hidden = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "OptionalGetValue", "RandomUniform", "ReadVariableOp")
print(json.dumps([_is_stateful(name) for name in (*hidden, "MatMul", "NoSuchOp")]))
"""


def test_ops_that_call_python_or_hold_state_may_not_be_blamed() -> None:
    assert python("-c", PROGRAM).document == [True] * 6 + [False] * 2
