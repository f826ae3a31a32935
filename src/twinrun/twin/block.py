"""Tensors as a framework has seen them, and the layout of a frame that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twinrun.masking import mask_tokens
from twinrun.recording.frame import HOST, MEASURED, Layout, joined_kinds

if TYPE_CHECKING:
    from twinrun.recording.outline import Key

Read = Callable[[int], Any]  # the value of the n-th tensor of a block, as a NumPy array


@dataclass(frozen=True)
class Block:
    """Tensors of one phase that were seen together."""

    phase: str
    names: tuple[str, ...]
    digests: Sequence[int]
    read: Read | None = None
    values: tuple[tuple[int, float], ...] = ()
    kinds: str = ""  # of the digests, as in a Layout
    size: int = 0  # bytes that it keeps alive, where somebody asks

    @staticmethod
    def of(phase: str, named: Iterable[tuple[str, Any]]) -> Block:
        """A block of NumPy arrays. They are kept, for a dump, and must not change until the next step."""
        from twinrun.recording.digest import digest_array

        pairs = list(named)
        names, digests = tuple(name for name, _ in pairs), [digest_array(array) for _, array in pairs]
        values = scalars([array for _, array in pairs]) if phase in MEASURED else ()
        return Block(phase, names, digests, lambda number: pairs[number][1], values)


def scalars(arrays: Sequence[Any]) -> tuple[tuple[int, float], ...]:
    """The values of single numbers, by index: contracts on metrics are judged by them."""
    return tuple(
        (index, float(array))
        for index, array in enumerate(arrays)
        if array.ndim == 0 and array.dtype.kind not in "OSUc"
    )


def layout_of(blocks: Sequence[Block]) -> Layout:
    """Names made unique within a phase: the second batch of a step is `x[2]`."""
    phases: list[str] = []
    names: list[str] = []
    seen: dict[Key, int] = {}
    kinds = joined_kinds(block.kinds or HOST * len(block.names) for block in blocks)
    for block in blocks:
        for name in map(mask_tokens, block.names):
            count = seen[block.phase, name] = seen.get((block.phase, name), 0) + 1
            phases.append(block.phase)
            names.append(name if count == 1 else f"{name}[{count}]")
    return Layout(tuple(phases), tuple(names), kinds)
