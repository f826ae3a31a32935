"""What makes a step: an optimizer, with its count of updates, and the tf.functions that drive it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from twinrun.frameworks.tensorflow.reading import Together, read

Given = tuple[Any, Any, Any]  # a tf.function, and the positional and named arguments of a call of it
# Where tf_keras, which does not count it among an optimizer's variables, has the learning rate, and that of a schedule.
_RATES = ("_learning_rate", "_current_learning_rate")


class Updater:
    """An optimizer and its count of updates."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = weakref.ref(optimizer)
        # What the optimizer counts with, the tf.Variable inside it, and a fast way to read that.
        self._counter: tuple[Any, Any, Together] | None = None
        self._counts_with: Any = None  # its own attribute, by which it is told that this is still so
        self.count = 0
        self.known = False  # its variables are

    def variables(self) -> list[Any]:
        """The tf.Variables that it has by now."""
        optimizer = self._optimizer()
        own = getattr(optimizer, "variables", ())
        # Not what Keras shows of one, which may be cast.
        found = [getattr(one, "_value", one) for one in (own() if callable(own) else own)]
        rates = (getattr(optimizer, name, None) for name in _RATES)
        return [*found, *(rate for rate in rates if isinstance(rate, tf.Variable))]

    def iterations(self) -> Any:
        """The tf.Variable that counts its updates."""
        return _tf_variable(self._count_of())

    def _count_of(self) -> Any:
        optimizer = self._optimizer()
        own = getattr(optimizer, "_iterations", self)
        if own is None:  # old optimizers would create it when asked
            return None
        shown = getattr(optimizer, "iterations", None)
        if own is not self and not hasattr(_tf_variable(shown), "_handle"):
            return own  # where gradients are accumulated, what Keras shows is worked out from it
        return shown

    def advance(self) -> int:
        """Updates made since the last look."""
        value = self._value()
        if value is None:
            return 0
        before, self.count = self.count, int(value)
        return max(0, self.count - before)

    def _value(self) -> Any:
        own = getattr(self._optimizer(), "_iterations", None)
        if self._counter is None or own is None or own is not self._counts_with:
            if not self._find_counter():
                return None
            self._counts_with = own
        assert self._counter is not None
        found = self._counter[2].read()
        return found[0] if found is not None else read(self._counter[1])

    def _find_counter(self) -> bool:
        """Keras is slow to show what it counts with, and to unwrap its variables."""
        counter = self._count_of()
        if self._counter is None or self._counter[0] is not counter:
            variable = _tf_variable(counter)
            if not hasattr(variable, "_handle"):
                return False
            together = Together([variable._handle], [variable._dtype.as_datatype_enum])
            self._counter = (counter, variable, together)
        return True


def _tf_variable(variable: Any) -> Any:
    return variable if hasattr(variable, "_handle") else getattr(variable, "value", variable)


@dataclass
class Call:
    """What is known of a tf.function: which optimizers it drives, and what it takes gradients of."""

    updaters: set[Updater] = field(default_factory=set)
    sources: list[Any] = field(default_factory=list)
    plain: bool = False  # it takes gradients of tensors that no variable holds
    depth: int = 0  # loops around the call that is under way
    moves: bool = False  # it updates manually what it takes gradients of
