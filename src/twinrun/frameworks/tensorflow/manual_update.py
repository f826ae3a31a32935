"""Updates that no optimizer makes. A gradient that is asked for announces one: the variables it was asked about are looked
at, and when they have moved by the next look, they were updated by hand. What an optimizer updates is left to it."""

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
class Source:
    """A variable that gradients were asked about. Known by a weak reference: an address alone is used again."""

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


class ByHand:
    def __init__(self) -> None:
        self.awaited: dict[int, Source] = {}  # announced, and not moved yet
        self._sources: dict[int, Source] = {}  # by address, while the variable lives
        self._given: dict[
            int, tuple[Any, Source | None]
        ] = {}  # likewise, by what the program calls a variable
        self._held: list[
            Any
        ] = []  # variables of the last announcement: one may be dropped before the next look
        self._numbers = count()
        self._look = 0

    def sources(self, variables: Iterable[Any]) -> list[Source]:
        """Those of the variables that may be updated by hand."""
        found = []
        for each in variables:
            known = self._given.get(id(each))
            if known is None or known[0]() is not each:
                known = self._note(each)
            if known[1] is not None and not known[1].optimized:
                found.append(known[1])
        return found

    def _note(self, given: Any) -> tuple[Any, Source | None]:
        """Asked for at every gradient: what a variable of Keras holds is looked up once."""
        address, inside = id(given), plain(given)

        def gone(reference: Any) -> None:
            if address in self._given and self._given[address][0] is reference:
                del self._given[address]

        if inside is None:  # nothing that could be read, or not yet
            return None, None
        found = self._given[address] = (weakref.ref(given, gone), self._source(inside))
        return found

    def _source(self, variable: Any) -> Source:
        address = id(variable)
        known = self._sources.get(address)
        if known is not None and known.variable() is variable:
            return known

        def gone(reference: Any) -> None:
            for table in (self._sources, self.awaited):
                if address in table and table[address].variable is reference:
                    del table[address]

        known = Source(weakref.ref(variable, gone), ("by hand", next(self._numbers)))
        self._sources[address] = known
        return known

    def optimized(self, variables: Iterable[Any]) -> None:
        """An optimizer updates these. Where nothing is awaited, all of them are known already, or never asked about."""
        for one in [found for each in variables if (found := plain(each)) is not None]:
            self._source(one).optimized = True
            self.awaited.pop(id(one), None)
        if not self.awaited:
            self._held.clear()

    def expect(self, sources: Iterable[Source]) -> None:
        """They may be updated from now on. What was looked at just now is not looked at again."""
        held = []
        for one in sources:
            if one.look != self._look:
                one.moved(self._look)
            variable = one.variable()
            if variable is not None:
                self.awaited[id(variable)] = one
                held.append(variable)
        self._held = held or self._held

    def moved(self, sources: Iterable[Source] | None = None) -> list[Source]:
        """Which of these (or of all that are awaited) have moved since they were last seen: these are awaited no more."""
        self._look += 1
        chosen = list(self.awaited.values() if sources is None else sources)
        found = [one for one in chosen if one.moved(self._look)]
        for one in found:
            self.awaited.pop(id(one.variable()), None)
        return found


def plain(variable: Any) -> Any:
    """The tf.Variable inside a variable of Keras, of mixed precision, or of several replicas."""
    for _ in range(4):
        if variable is None or isinstance(variable, BaseResourceVariable):
            return variable
        inside = getattr(variable, "__dict__", {})
        variable = inside.get("_value", inside.get("_variable", inside.get("_primary")))
    return None
