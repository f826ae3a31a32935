"""Datasets that a function has captured: only their tensor is left; what it stands for is remembered here."""

from __future__ import annotations

import weakref
from typing import Any

from twinrun.pipelines.lift import Lifted, lift, lift_written

# Datasets, and graphs of datasets, by the tensor that stands for them.
_by_tensor: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def remember(dataset: Any) -> None:
    """Let a dataset be recognised where a function has captured it."""
    _by_tensor[id(dataset._variant_tensor)] = dataset


def remember_graph(variant: Any, graph: Any) -> Lifted:
    """Let a dataset that a function of ours has built be recognised. Known as long as the answer is kept."""
    origins = {}
    for outer, inner in graph.captures:
        known = _by_tensor.get(id(outer))
        if known is not None and getattr(known, "_variant_tensor", None) is outer:
            origins[inner.op.name] = known
    lifted = Lifted(graph, graph.outputs[0], origins)
    _by_tensor[id(variant)] = lifted
    return lifted


def captured_dataset(variant: Any) -> Lifted | None:
    """The pipeline of a dataset of which a function has captured the tensor, or None if it is no dataset."""
    known = _by_tensor.get(id(variant))
    if isinstance(known, Lifted):
        return known
    if known is not None and known._variant_tensor is variant:
        return lift(known)
    return lift_written(_Bare(variant))


class _Bare:
    """A dataset of which nothing is known but its tensor."""

    def __init__(self, variant: Any) -> None:
        self._variant_tensor = variant

    def _inputs(self) -> list[Any]:
        return []

    def _functions(self) -> list[Any]:
        return []

    def _as_serialized_graph(self, external_state_policy: Any) -> Any:
        from tensorflow.python.ops import gen_dataset_ops

        return gen_dataset_ops.dataset_to_graph_v2(
            self._variant_tensor, external_state_policy=external_state_policy.value
        )
