"""The tensors of the frame at which a twin stands, for a parent that asks for their values: in outlines, in parts, or in a
file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.recording.frame import DEVICE
from twinrun.twin.block import Block, layout_of

if TYPE_CHECKING:
    from twinrun.recording.outline import Key, Outline, Part

# NumPy, which these modules of the recording need, is imported when there is a tensor, and not for every program.


class Held:
    """Values are read where they lie, or copied from a device, one tensor at a time. Those that changed since they were
    digested are not known."""

    def __init__(self, blocks: Sequence[Block], omitted: Callable[[str], Any]) -> None:
        # The last one: its pieces are asked for one after the other.
        self._read: tuple[Key, Any] | None = None
        self.layout = layout_of(blocks)
        self._seen = [(block, number) for block in blocks for number in range(len(block.digests))]
        self._omitted = omitted

    def outlines(self, keys: Sequence[Key]) -> list[Outline | None]:
        from twinrun.recording.pieces import outline_of

        arrays = (self._unchanged(key) for key in keys)
        return [None if array is None else outline_of(array) for array in arrays]

    def values(self, parts: Sequence[Part]) -> bytes | None:
        """The values of tensors that were outlined: the digests of their blocks tell whether they have changed since."""
        from twinrun.recording.pieces import values_of

        return values_of(parts, self._array)

    def dump(self, file: Path, parts: Sequence[Part]) -> None:
        from twinrun.recording.dump import write_parts

        arrays = {key: self._unchanged(key) for key in dict.fromkeys(part.key for part in parts)}
        write_parts(file, [(part, array) for part in parts if (array := arrays[part.key]) is not None])

    def dump_all(self, file: Path) -> None:
        from twinrun.recording.dump import write_dump

        keys = zip(self.layout.phases, self.layout.names, strict=True)
        arrays = ((key, self._unchanged(key)) for key in keys)
        write_dump(file, {key: array for key, array in arrays if array is not None})

    def _unchanged(self, key: Key) -> Any:
        from twinrun.recording.digest import digest_array
        from twinrun.recording.sum_digest import sum_digest

        array = self._array(key)
        place = self.layout.places.get(key)
        if array is None or place is None:
            return array
        block, number = self._seen[place]
        taken = sum_digest if self.layout.kind(place) == DEVICE else digest_array
        return array if taken(array) == block.digests[number] else None

    def _array(self, key: Key) -> Any:
        if self._read is None or self._read[0] != key:
            self._read = (key, self._fetch(key))
        return self._read[1]

    def _fetch(self, key: Key) -> Any:
        place = self.layout.places.get(key)
        if place is None:
            return self._omitted(key[1]) if key[0] == "weights" else None
        block, number = self._seen[place]
        return block.read(number) if block.read is not None else None
