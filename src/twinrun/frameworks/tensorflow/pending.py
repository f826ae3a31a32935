"""What was seen since the last update, on the way to the next: elements, losses, probes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from twinrun.frameworks.tensorflow.tensors import Named, block, block_of, folded
from twinrun.twin.block import Block
from twinrun.twin.recorder import Recorder

_KEPT_ELEMENTS = 10_000  # beyond this many, one digest stands for all the rest
_KEPT_BYTES = 256 << 20  # beyond this, only digests are kept, and no values


@dataclass(frozen=True)
class Drawn(Block):
    """An element of a dataset, and where it was drawn from."""

    iterator: weakref.ref[Any] | None = None

    @property
    def is_over(self) -> bool:
        """Drawn in a loop that has ended since: a look at the data, or a validation. The loop that trains goes on."""
        return self.iterator is not None and self.iterator() is None


class Pending:
    def __init__(self, recorder: Recorder) -> None:
        self.blocks: list[Block] = []
        self._recorder = recorder
        # Seen inside a training call, each with its place in the graph.
        self._in_graph: list[tuple[int, Block]] = []
        self._kept_bytes = 0
        self._marked = 0
        # What led to gradients of plain tensors, and may still turn out to be part of an update of variables.
        self.rounds: list[list[Block]] = []

    def add(self, one: Block | None) -> None:
        if one is not None:
            self.blocks.append(one)

    def add_in_graph(self, slot: int, one: Block) -> None:
        self._in_graph.append((slot, one))

    def add_element(self, element: Any, iterator: Any) -> None:
        """An element was drawn eagerly. A program may draw very many before it trains, or never train: all are
        compared, but not all are kept."""
        drawn = block("batch", element)
        if drawn is None:
            return
        if len(self.blocks) >= _KEPT_ELEMENTS:
            self.blocks[-1] = folded(self.blocks[-1], drawn)
            return
        if not self.blocks:
            self._kept_bytes = 0
        self._kept_bytes += drawn.size
        read = drawn.read if self._kept_bytes < _KEPT_BYTES else None
        self.blocks.append(
            Drawn(
                drawn.phase,
                drawn.names,
                drawn.digests,
                read,
                drawn.values,
                drawn.kinds,
                drawn.size,
                weakref.ref(iterator),
            )
        )

    def take_probes(self) -> list[Block]:
        """What probes inside a graph have seen since this was last asked."""
        found = [one for _, one in self._in_graph if one.phase == "probe"]
        self._in_graph = [pair for pair in self._in_graph if pair[1].phase != "probe"]
        return found

    def end_call(self) -> None:
        """End a call that trained nothing: what it drew is no batch, but its probes count."""
        self.blocks += self.take_probes()
        self._in_graph.clear()

    def keep(self, wanted: Callable[[Block], bool]) -> None:
        self.blocks = [one for one in self.blocks if wanted(one)]

    def forget(self) -> None:
        self.blocks, self.rounds, self._in_graph, self._marked = [], [], [], 0

    def end_round(self, *, goes_on: bool) -> None:
        """What is pending has led to gradients of plain tensors, in a round of its own or as more of the last one."""
        blocks = [one for one in self.blocks if not (isinstance(one, Drawn) and one.is_over)]
        if goes_on and self.rounds:
            self.rounds[-1] += blocks
        else:
            self.rounds.append(blocks)
        self.blocks, self._marked = [], 0

    def mark(self) -> None:
        """What is pending now belongs to a manual update that is expected."""
        self._marked = len(self.blocks)

    def flush_marked(self) -> None:
        later = self.blocks[self._marked :]
        del self.blocks[self._marked :]
        self.flush()
        self.blocks = later

    def flush(self, inputs: Iterable[Named] = ()) -> None:
        """What is pending belongs to the update that was just made. Where the training call was given tensors, or drew
        some itself, those are its batch, and what was iterated elsewhere (validation, a look at the data) is not."""
        given = block_of("batch", inputs)
        elsewhere = given is not None or any(one.phase == "batch" for _, one in self._in_graph)
        for one in (*chain.from_iterable(self.rounds), *self.blocks):
            over = isinstance(one, Drawn) and one.is_over
            if one.phase != "batch" or not (elsewhere or over):
                self._recorder.add(one)
        # Replicas draw at the same time: the place in the graph gives them an order, their arrival does not.
        for _, one in sorted(self._in_graph, key=lambda drawn: drawn[0]):
            self._recorder.add(one)
        if given is not None:
            self._recorder.add(given)
        self.forget()
