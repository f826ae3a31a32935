"""What is digested on a GPU while the program goes on is what its variables hold only until the program runs something that may
change one, be it an op or a function. Loaded without TensorFlow, and installed once anything is digested so."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from twinrun.frameworks.packages import tf_point
from twinrun.protocol.point import Point, Wrap
from twinrun.twin.callers import is_unseen
from twinrun.twin.session import Session

# Ops that hold or take a resource, and leave variables as they are.
_HARMLESS = frozenset({
    "ReadVariableOp", "_ReadVariablesOp", "ResourceGather", "IteratorGetNext", "IteratorGetNextAsOptional",
    "OptionalHasValue", "OptionalGetValue",
})  # fmt: skip


def points(forget: Callable[[], None]) -> tuple[Point, ...]:
    """Around all that runs an op or a function, each with the place of the name among its arguments."""
    runs = (("TFE_Py_FastPathExecute", 1), ("TFE_Py_Execute", 2), ("TFE_Py_ExecuteCancelable", 2))
    reason = "what is being digested on a GPU may not be what the variables hold any more"
    return tuple(
        tf_point(f"pywrap_tfe:{name}", _forgetting(forget, place), reason, "verdict") for name, place in runs
    )


def _forgetting(forget: Callable[[], None], place: int) -> Wrap:
    def wrap(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            try:
                return original(*args)
            finally:
                if _may_change_a_variable(args[place]) and not is_unseen():
                    forget()

        return run

    return wrap


@lru_cache(maxsize=1024)
def _may_change_a_variable(name: str) -> bool:
    """TensorFlow marks every op as stateful that takes a resource. Functions are in no registry."""
    from tensorflow.python.framework import op_def_registry

    if name in _HARMLESS:
        return False
    definition = op_def_registry.get(name)
    return definition is None or bool(definition.is_stateful)
