"""TensorFlow for sources and controls: the modules they use, imported when first used, and settings of its runtime.
Asking for these starts nothing: the program may still choose devices and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinrun.frameworks.lazy import Lazy
from twinrun.protocol.control import Control, Undo
from twinrun.protocol.pin import PinRequest
from twinrun.twin.session import current

tf = Lazy("tensorflow")
context = Lazy("tensorflow.python.eager.context")
config = Lazy("tensorflow.python.framework.config")
ops = Lazy("tensorflow.python.framework.ops")
random_seed = Lazy("tensorflow.python.framework.random_seed")
build = Lazy("tensorflow.python.util._pywrap_util_port")
tf_stack = Lazy("tensorflow.python.util.tf_stack")
stateful_random_ops = Lazy("tensorflow.python.ops.stateful_random_ops")


def is_started() -> bool:
    """Whether a first op, or a question for the devices, has started the runtime. From then on, threads and devices cannot be changed."""
    return getattr(context.context(), "_context_handle", None) is not None


def is_applied(control: str) -> bool:
    return control in current().pins.applied


def switch(
    read: Callable[[], Any], write: Callable[[Any], object], value: Any
) -> Callable[[PinRequest], Undo]:
    """Applies a control that is a setting which can be read and written; the undo writes back what was there."""

    def apply(request: PinRequest) -> Undo:
        before = read()
        write(value)

        def undo() -> None:
            write(before)

        return undo

    return apply


def before_first_op(name: str, protects: str, how: str, **more: Any) -> Control:
    return Control(name, protects, "before the first op", how, module="tensorflow", **more)
