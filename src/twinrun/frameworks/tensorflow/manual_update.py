"""Updates that no optimizer makes. Asking for gradients announces one: when the variables that they were taken of have
moved by the next look, they were updated manually. What an optimizer updates is left to it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from twinrun.frameworks.tensorflow.reading import read
from twinrun.recording.digest import digest_array


@dataclass(eq=False)
class Target:
    """A variable that gradients were taken of."""

    variable: weakref.ref[Any]
    optimized: bool = False  # by an optimizer
    digest: int | None = None  # as last seen
    look: int = -1  # the number of the last look

    def moved(self, look: int) -> bool:
        """Since it was last seen."""
        before, self.look = self.digest, look
        variable = self.variable()
        value = None if variable is None else read(variable)
        self.digest = None if value is None else digest_array(value)
        return before is not None and self.digest is not None and self.digest != before


class ManualUpdates:
    def __init__(self) -> None:
        self.expected: dict[Target, None] = {}  # announced, and not moved yet
        # By address, while it lives: what the program calls a variable. One of Keras and the tf.Variable that it holds
        # have the same target. The weak reference tells whether an address is used again.
        self._known: dict[int, tuple[weakref.ref[Any], Target]] = {}
        # Variables of the last announcement, which the program may drop before the next look.
        self._kept: list[Any] = []
        self._look = 0

    def targets(self, variables: Iterable[Any]) -> list[Target]:
        """The variables that may be updated manually."""
        found = map(self._target, variables)
        return [one for one in found if one is not None and not one.optimized]

    def _target(self, given: Any) -> Target | None:
        address = id(given)
        known = self._known.get(address)
        if known is not None and known[0]() is given:
            return known[1]
        inside = _tf_variable(given)
        if inside is None:  # nothing that could be read, or not yet
            return None
        target = Target(weakref.ref(inside))
        if inside is not given:
            target = self._target(inside) or target

        def gone(reference: Any) -> None:
            if address in self._known and self._known[address][0] is reference:
                del self._known[address]
            if target.variable() is None:
                self.expected.pop(target, None)

        self._known[address] = (weakref.ref(given, gone), target)
        return target

    def optimized(self, variables: Iterable[Any]) -> None:
        """An optimizer updates these. Where no update is expected, all of them are known already, or no gradients were
        taken of them."""
        for one in map(self._target, variables):
            if one is not None:
                one.optimized = True
                self.expected.pop(one, None)
        if not self.expected:
            self._kept.clear()

    def expect(self, targets: Iterable[Target]) -> None:
        """They may be updated from now on. What was looked at just now is not looked at again."""
        kept = []
        for one in targets:
            if one.look != self._look:
                one.moved(self._look)
            variable = one.variable()
            if variable is not None:
                self.expected[one] = None
                kept.append(variable)
        self._kept = kept or self._kept

    def moved(self, targets: Iterable[Target] | None = None) -> list[Target]:
        """Which of these (by default, of all that are expected to) have moved since they were last seen. They are then
        no longer expected to."""
        self._look += 1
        found = [one for one in list(self.expected if targets is None else targets) if one.moved(self._look)]
        for one in found:
            self.expected.pop(one, None)
        return found


def _tf_variable(variable: Any) -> Any:
    """The tf.Variable inside a variable of Keras, of mixed precision, or of several replicas. None where there is none,
    or none yet."""
    for _ in range(4):
        if variable is None or isinstance(variable, BaseResourceVariable):
            return variable
        inside = getattr(variable, "__dict__", {})
        first, *_ = inside.get("_values") or (None,)
        variable = inside.get("_value", inside.get("_variable", first))
    return None
