"""Updates that no optimizer makes. Asking for gradients announces one: when the variables that they were taken of have
moved by the next look, they were updated manually. What an optimizer updates is left to it."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from twinrun.frameworks.tensorflow.reading import read
from twinrun.recording.digest import digest_array


@dataclass(eq=False)
class Target:
    """A variable that gradients were taken of. Known by a weak reference: an address alone is used again."""

    variable: weakref.ref[Any]
    key: Hashable
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
        self.expected: dict[int, Target] = {}  # announced, and not moved yet
        self._targets: dict[int, Target] = {}  # by address, while the variable lives
        # Likewise, by the address of what the program calls a variable: one of Keras holds a tf.Variable.
        self._known: dict[int, tuple[Any, Target | None]] = {}
        # Variables of the last announcement, which the program may drop before the next look.
        self._kept: list[Any] = []
        self._numbers = count()
        self._look = 0

    def targets(self, variables: Iterable[Any]) -> list[Target]:
        """Those of the variables that may be updated manually."""
        found = []
        for each in variables:
            known = self._known.get(id(each))
            if known is None or known[0]() is not each:
                known = self._add(each)
            if known[1] is not None and not known[1].optimized:
                found.append(known[1])
        return found

    def _add(self, given: Any) -> tuple[Any, Target | None]:
        address, inside = id(given), tf_variable(given)

        def gone(reference: Any) -> None:
            if address in self._known and self._known[address][0] is reference:
                del self._known[address]

        if inside is None:  # nothing that could be read, or not yet
            return None, None
        found = self._known[address] = (weakref.ref(given, gone), self._target(inside))
        return found

    def _target(self, variable: Any) -> Target:
        address = id(variable)
        known = self._targets.get(address)
        if known is not None and known.variable() is variable:
            return known

        def gone(reference: Any) -> None:
            for table in (self._targets, self.expected):
                if address in table and table[address].variable is reference:
                    del table[address]

        known = Target(weakref.ref(variable, gone), ("manual update", next(self._numbers)))
        self._targets[address] = known
        return known

    def optimized(self, variables: Iterable[Any]) -> None:
        """An optimizer updates these. Where no update is expected, all of them are known already, or no gradients were
        taken of them."""
        for one in [found for each in variables if (found := tf_variable(each)) is not None]:
            self._target(one).optimized = True
            self.expected.pop(id(one), None)
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
                self.expected[id(variable)] = one
                kept.append(variable)
        self._kept = kept or self._kept

    def moved(self, targets: Iterable[Target] | None = None) -> list[Target]:
        """Which of these (by default, of all that are expected to) have moved since they were last seen. They are then
        no longer expected to."""
        self._look += 1
        chosen = list(self.expected.values() if targets is None else targets)
        found = [one for one in chosen if one.moved(self._look)]
        for one in found:
            self.expected.pop(id(one.variable()), None)
        return found


def tf_variable(variable: Any) -> Any:
    """The tf.Variable inside a variable of Keras, of mixed precision, or of several replicas."""
    for _ in range(4):
        if variable is None or isinstance(variable, BaseResourceVariable):
            return variable
        inside = getattr(variable, "__dict__", {})
        variable = inside.get("_value", inside.get("_variable", inside.get("_primary")))
    return None
