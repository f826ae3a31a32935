"""The content of lookup tables, compared like weights. A table is known from the first change of its content on: one that
is empty holds nothing to compare. Which order it keeps its entries in is its own affair: they are sorted by key."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context
from tensorflow.python.framework import ops

from twinrun.frameworks.tensorflow import loops
from twinrun.frameworks.tensorflow.tensors import EagerTensor
from twinrun.frameworks.tensorflow.variable_names import assigned_name
from twinrun.recording.digest import digest_array
from twinrun.twin.block import Block
from twinrun.twin.callers import user_site
from twinrun.twin.recorder import Recorder

_KEPT_BYTES = 64 << 20  # of one table; of a larger one there are only digests
_MOST = 64  # tables that are reported: those that changed last
_PARTS = ("keys", "values")


@dataclass(eq=False)
class Table:
    """`handle` is kept while the content may have changed since the last look, whoever drops the table meanwhile."""

    number: int
    name: str
    kinds: tuple[int, int]  # the numbers of its types, of keys and of values
    handle: Any = None
    in_graph: bool = False  # a tf.function changes it, which nobody hears of
    digests: list[int] = field(default_factory=list)
    content: list[Any] = field(default_factory=list)

    def look(self) -> None:
        if self.handle is None:
            return
        found = _export(self.handle, self.kinds)
        if found is not None:
            self.digests = [digest_array(part) for part in found]
            self.content = found if sum(part.nbytes for part in found) <= _KEPT_BYTES else [None, None]
        if not self.in_graph:
            self.handle = None


class Tables:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._names: dict[str, int] = {}
        self._count = 0
        self._made: dict[int, tuple[weakref.ref[Any], str]] = {}  # not changed so far, by address
        # By the address of the handle. The weak reference tells whether an address is used again.
        self._known: dict[int, tuple[weakref.ref[Any], Table]] = {}
        self._reported: dict[Table, None] = {}
        self.created = False  # any, since the last look

    def on_table(self, result: Any, table: Any, *_: Any, **__: Any) -> None:
        """A table is being made. It has no handle yet."""
        site = user_site()
        name = (site and assigned_name(*site)) or "table"
        address = id(table)
        self._made[address] = (weakref.ref(table, lambda _: self._made.pop(address, None)), name)

    def on_change(
        self, result: Any, table_handle: Any, keys: Any, values: Any = None, *_: Any, **__: Any
    ) -> None:
        """Entries are put in or taken out. One in a graph of TensorFlow 1 cannot be read from outside."""
        if not isinstance(table_handle, EagerTensor):
            return
        eager = context.executing_eagerly()
        if not eager and _in_pipeline():
            self._recorder.note("a table that a dataset's function changes is not compared")
            return
        table = self._table(table_handle, keys, values)
        if table is not None:
            table.handle, table.in_graph = table_handle, table.in_graph or not eager
            self._reported.pop(table, None)
            self._reported[table] = None
            if len(self._reported) > _MOST:
                del self._reported[next(iter(self._reported))]

    def _table(self, handle: Any, keys: Any, values: Any) -> Table | None:
        known = self._known.get(id(handle))
        if known is not None and known[0]() is handle:
            return known[1]
        if not isinstance(keys, tf.Tensor) or not isinstance(values, tf.Tensor):  # nothing was put in so far
            return None
        kinds = (keys.dtype.as_datatype_enum, values.dtype.as_datatype_enum)
        table = Table(self._count, self._name(handle), kinds)
        address = id(handle)
        self._known[address] = (weakref.ref(handle, lambda _: self._known.pop(address, None)), table)
        self._count += 1
        self.created = True
        return table

    def _name(self, handle: Any) -> str:
        made = [(address, *known) for address, known in self._made.items()]
        base = "table"
        for address, reference, name in made:
            if getattr(reference(), "_resource_handle", None) is handle:
                base = name
                del self._made[address]
        count = self._names[base] = self._names.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"

    def blocks(self, phase: str) -> list[Block]:
        """All that are reported, as they are now."""
        self.created = False
        reported = sorted(self._reported, key=lambda table: table.number)
        for table in reported:
            table.look()
        return [_block(phase, table) for table in reported if table.digests]


def _block(phase: str, table: Table) -> Block:
    content = table.content
    return Block(phase, tuple(f"{table.name}/{part}" for part in _PARTS), table.digests, content.__getitem__)


def _export(handle: Any, kinds: tuple[int, int]) -> list[Any] | None:
    """Keys and values, sorted. None where the table is gone."""
    try:
        found = pywrap_tfe.TFE_Py_FastPathExecute(
            context.context(), "LookupTableExportV2", None, handle, "Tkeys", kinds[0], "Tvalues", kinds[1]
        )
    except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
        return None
    keys, values = (np.asarray(part._numpy_internal()) for part in found)
    if keys.ndim == 1:
        order = np.argsort(keys, kind="stable")
    else:  # keys of several numbers each
        order = np.lexsort(keys.reshape(len(keys), -1).T[::-1])
    return [keys[order], values[order]]


def _in_pipeline() -> bool:
    """Whether the graph that is being built is a dataset's function. It runs ahead of the steps, nobody knows how far."""
    graph = ops.get_default_graph()
    while graph is not None:
        if str(getattr(graph, "name", "")).startswith("Dataset_") and not loops.is_dataset_loop(graph):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False
