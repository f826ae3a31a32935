"""Large tensors compared and kept in pieces: the numbers are those of the whole tensors, and the files have a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from twinrun.comparison.contract import BITWISE, parse_contract
from twinrun.comparison.measure import Dumps, measure
from twinrun.comparison.tensors import distance
from twinrun.recording.dump import read_dump, write_parts
from twinrun.recording.outline import BLOCK, PIECE, Key, Outline, Part
from twinrun.recording.pieces import outline_of, values_of

W: Key = ("weights", "w")
COUNT = 3 * PIECE // 4 + 5  # float32: three pieces, and a few elements of a fourth


@dataclass
class Side:
    """A twin that is held, with these tensors."""

    name: str
    folder: Path = Path()
    known: dict[Key, np.ndarray] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)  # bytes of each answer

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        return [outline_of(self.known[key]) if key in self.known else None for key in keys]

    def values(self, parts: list[Part]) -> bytes | None:
        data = values_of(parts, self.known.get)
        self.asked.append(len(data or b""))
        return data

    def dump(self, parts: list[Part], file: Path) -> str | None:
        write_parts(file, [(part, self.known[part.key]) for part in parts])
        return None


def pair(a: dict[Key, np.ndarray], b: dict[Key, np.ndarray], place: Path = Path()) -> tuple[Side, Side]:
    return Side("A", place / "A", a), Side("B", place / "B", b)


def changed(array: np.ndarray, *places: int, by: float = 1.0) -> np.ndarray:
    other = array.copy()
    other.reshape(-1)[list(places)] += by
    return other


@pytest.mark.parametrize(
    "places",
    [[0], [COUNT - 1], [BLOCK // 4 - 1, BLOCK // 4], [7, BLOCK, COUNT - 2], [*range(0, COUNT, 1000)]],
)
def test_the_numbers_are_those_of_the_whole_tensors(places: list[int]) -> None:
    a = np.linspace(-1, 1, COUNT, dtype=np.float32)
    b = changed(a, *places)
    twins = pair({W: a}, {W: b})
    assert measure(twins, [W], BITWISE)[W].distance == distance(a, b)
    assert max(twins[0].asked) <= PIECE


def test_only_blocks_that_differ_are_asked_for() -> None:
    a = np.zeros(COUNT, np.float32)
    twins = pair({W: a}, {W: changed(a, BLOCK)})
    found = measure(twins, [W], BITWISE)[W].distance
    assert (found.differing_count, found.first_index) == (1, (BLOCK,))
    assert sum(twins[0].asked) == BLOCK


def test_a_contract_by_value_is_judged_over_every_piece() -> None:
    a = np.ones(COUNT, np.float32)
    near, far = changed(a, 1, COUNT - 1, by=1e-6), changed(changed(a, 1, by=1e-6), COUNT - 1)
    contract = parse_contract("rtol=1e-4")
    assert measure(pair({W: a}, {W: near}), [W], contract)[W].within
    assert not measure(pair({W: a}, {W: far}), [W], contract)[W].within


def test_many_small_tensors_are_asked_for_together() -> None:
    keys = [("weights", f"w{number}") for number in range(500)]
    twins = pair({key: np.zeros(3) for key in keys}, {key: np.ones(3) for key in keys})
    found = measure(twins, keys, BITWISE)
    assert len(found) == 500 and len(twins[0].asked) == 1
    assert all(each.distance.differing_count == 3 for each in found.values())


def test_text_and_tensors_of_other_shapes_are_measured_too() -> None:
    words = [np.array([b"a", bytes([n]) * 3, b""], dtype=object) for n in (1, 2)]
    text, shape = ("batch", "text"), ("batch", "x")
    twins = pair({text: words[0], shape: np.zeros(2)}, {text: words[1], shape: np.zeros((2, 1))})
    found = measure(twins, [text, shape], BITWISE)
    assert found[text].distance == distance(*words) and found[text].distance.first_index == (1,)
    assert "float64[2] against float64[2, 1]" in str(found[shape].distance.note)
    assert not found[shape].within


def test_what_changes_while_it_is_measured_is_not_known() -> None:
    a = np.zeros(COUNT, np.float32)
    twins = pair({W: a}, {W: a + 1})

    class Changing(Side):
        def outlines(self, keys: list[Key]) -> list[Outline | None]:
            found = super().outlines(keys)
            self.known[W] = self.known[W] + 1
            return found

    assert measure((twins[0], Changing("B", known={W: a + 1})), [W], BITWISE) == {}
    assert measure((twins[0], Side("B")), [W], BITWISE) == {}


# what is kept


def kept(
    place: Path, a: dict[Key, np.ndarray], b: dict[Key, np.ndarray], room: int
) -> tuple[Dumps, list[Path]]:
    dumps = Dumps(room)
    dumps.keep(pair(a, b, place), list(a), 3)
    return dumps, sorted(place.rglob("*.safetensors"))


def test_small_tensors_are_kept_whole_and_of_large_ones_the_blocks_that_differ(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    small = ("batch", "x")
    a = {small: np.arange(10.0), W: np.zeros(COUNT, np.float32)}
    b = {small: a[small] + 1, W: changed(a[W], BLOCK, BLOCK + 1)}
    dumps, files = kept(tmp_path, a, b, 100_000_000)
    assert dumps.notes == []
    assert [str(file.relative_to(tmp_path)) for file in files] == [
        f"{twin}/tensors/step-000003.safetensors" for twin in "AB"
    ]
    assert list(read_dump(files[1])) == [small] and (read_dump(files[1])[small] == b[small]).all()
    with safetensors.safe_open(str(files[1]), framework="numpy") as file:
        assert (file.get_tensor("1") == b[W][BLOCK : BLOCK + BLOCK // 4]).all()
        assert f'"start": {BLOCK}, "stop": {BLOCK + BLOCK // 4}' in file.metadata()["tensors"]


def test_no_more_is_kept_than_there_is_room_for_and_that_is_said(tmp_path: Path) -> None:
    small = ("weights", "small")
    a = {W: np.zeros(COUNT, np.float32), small: np.zeros(9)}
    b = {W: a[W] + 1, small: a[small] + 1}
    room = 3 * PIECE
    dumps, files = kept(tmp_path, a, b, room)
    assert sum(file.stat().st_size for file in files) < room
    assert list(read_dump(files[0])) == [small]
    assert dumps.notes == ["of the tensors that differ each twin kept 4.19 MB of 12.6 MB (--dump-limit)"]
    left = dumps.room
    assert 0 <= left < PIECE * 2
    dumps.keep(pair(a, b, tmp_path), [W], 4)  # the limit is for the whole check
    assert left - dumps.room < PIECE
    assert kept(tmp_path / "none", a, b, 0)[1] == []
