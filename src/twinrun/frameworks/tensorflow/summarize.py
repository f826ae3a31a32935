"""What goes into a call and comes out of it, as blocks of named tensors."""

from __future__ import annotations

from typing import Any

from twinrun.frameworks.tensorflow.tensors import Named, block_of, leaves, rank_of
from twinrun.twin.block import Block

_LARGEST_OUTPUT = 64 << 20


def output_blocks(result: Any) -> list[Block]:
    """Scalars that a training call returns are its loss and metrics; anything larger is its forward result."""
    scalars: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, leaf in leaves(result, "" if isinstance(result, dict) else "output"):
        size = getattr(leaf, "size", None)
        if rank_of(leaf) == 0:
            scalars["loss" if name == "output" else name] = leaf
        elif not isinstance(size, int) or size * 8 <= _LARGEST_OUTPUT:
            others[name] = leaf
    loss = scalars.pop("loss", None)
    if loss is None and scalars and not isinstance(result, dict):
        loss = scalars.pop(next(iter(scalars)))
    named = {"loss": {"loss": loss}, "metric": scalars, "forward": others}
    parts = [block_of(phase, members.items()) for phase, members in named.items()]
    return [one for one in parts if one is not None]


def named_arguments(function: Any, args: Any, kwargs: Any) -> list[Named]:
    """The tensors given to a call, under the names of its parameters."""
    positional, rest = _parameter_names(function)
    found: list[Named] = []
    for index, value in enumerate(args):
        name = positional[index] if index < len(positional) else f"{rest}/{index - len(positional)}"
        as_batch = isinstance(value, (tuple, dict))  # a whole batch in one argument keeps its own names
        found.extend(leaves(value, "" if as_batch else name))
    for name, value in kwargs.items():
        found.extend(leaves(value, name))
    return found


def _parameter_names(function: Any) -> tuple[list[str], str]:
    """The names of a tf.function's positional parameters, and of the one that takes all others. TensorFlow leaves out the instance of
    a method, and what a partial has bound."""
    known = getattr(getattr(function, "_function_type", None), "parameters", {}).values()
    named = [one.name for one in known if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return named, next((one.name for one in known if one.kind is one.VAR_POSITIONAL), "argument")


def flat(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [leaf for value in structure.values() for leaf in flat(value)]
    if isinstance(structure, (list, tuple)):
        return [leaf for value in structure for leaf in flat(value)]
    return [structure]
