"""Tensors in pieces: an outline and the parts that differ say what the whole tensors would."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest
from arrays import arrays, bools, strings
from hypothesis import given
from hypothesis import strategies as st

from twinrun.errors import CannotWrite
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import Dump, write_dump
from twinrun.recording.outline import PIECE, Outline, Part, differing_parts, joined
from twinrun.recording.pieces import decoded, encoded, flat, outline_of, values_of

KEY = ("weights", "w")
anything = st.one_of(arrays(), bools(), strings())


@given(st.lists(anything, max_size=4))
def test_values_travel_bit_for_bit(tensors: list[np.ndarray]) -> None:
    known = {("batch", str(number)): array for number, array in enumerate(tensors)}
    data = values_of([Part(*key, 0, array.size) for key, array in known.items()], known.get)
    left = memoryview(data or b"")
    for array in tensors:
        back, left = decoded(left, str(array.dtype), array.size)
        assert digest_array(back.reshape(array.shape)) == digest_array(array)
    assert not left


@given(anything)
def test_a_dump_has_the_outline_of_its_tensor(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    file = tmp_path_factory.mktemp("dump") / "a"
    write_dump(file, {KEY: array})
    assert Dump(file).outline(KEY) == (outline_of(array), digest_array(array))


def test_so_has_a_dump_of_a_large_one_and_its_parts_are_those_of_the_tensor(tmp_path: Path) -> None:
    array = np.random.default_rng(1).normal(size=(PIECE // 4, 2)).astype(np.float32)
    write_dump(tmp_path / "a", {KEY: array})
    dump = Dump(tmp_path / "a")
    assert dump.outline(KEY) == (outline_of(array), digest_array(array))
    for start, stop in ((0, 1), (PIECE // 4 - 1, PIECE // 4 + 1), (array.size - 3, array.size)):
        part = dump.elements(Part(*KEY, start, stop))
        assert part is not None and (part == flat(array)[start:stop]).all()


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 3))
def test_parts_cover_the_blocks_that_differ_and_nothing_else(same: list[bool], missing: int) -> None:
    block = 4
    size = max(0, block * len(same) - missing)
    outlines = [
        Outline("float32", (size,), 4 * size, block, tuple(n + shift * (not s) for n, s in enumerate(same)))
        for shift in (0, 1000)
    ]
    parts = list(differing_parts(KEY, *outlines))
    wanted = [place for place in range(size) if not same[place // block]]
    assert [place for part in parts for place in range(part.start, part.stop)] == wanted
    assert all(part.stop - part.start <= 4 * block for part in parts)
    assert [p for part in joined(parts) for p in range(part.start, part.stop)] == wanted
    assert all(one.stop < other.start for one, other in zip(joined(parts), joined(parts)[1:], strict=False))


def test_a_transposed_tensor_is_counted_in_its_own_order() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    back, _ = decoded(memoryview(values_of([Part(*KEY, 1, 4)], {KEY: array}.get) or b""), "float64", 3)
    assert back.tolist() == [3.0, 1.0, 4.0]
    assert bytes(encoded(flat(array))) == array.tobytes()


def test_no_half_of_a_dump_stays_where_there_is_no_room(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(CannotWrite, match="cannot write .*/a: File too large"):
            write_dump(tmp_path / "a", {KEY: np.zeros(1000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
