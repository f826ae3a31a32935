"""The digest of sums: what it must tell apart, and that it is the one it is defined to be."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from twinrun.recording import sum_digest as module
from twinrun.recording.digest import digest_array
from twinrun.recording.sum_digest import FIRST, SECOND, SHIFTS, STEP, finished, sum_digest

TYPES = (
    "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "complex64", "complex128",
)  # fmt: skip
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 64, 1003)


def made(kind: str, shape: int | tuple[int, ...], seed: int = 1) -> np.ndarray:
    dice = np.random.default_rng(seed)
    if kind == "bool":
        return dice.integers(0, 2, shape).astype(bool)
    if kind.startswith("complex"):
        return (dice.normal(size=shape) + 1j * dice.normal(size=shape)).astype(kind)
    numbers = dice.normal(size=shape) * 50 if "float" in kind else dice.integers(0, 100, shape)
    return numbers.astype(getattr(ml_dtypes, kind, kind))


def one_by_one(array: np.ndarray) -> int:
    """The definition, with Python's integers."""
    total, at, most = 0, 0, (1 << 64) - 1
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    for part in parts:
        size = part.itemsize
        items = [int.from_bytes(part.ravel()[i : i + 1].tobytes(), "little") for i in range(part.size)]
        per = 8 // size
        count = len(items) // per
        words = [sum(items[k * count + i] << (8 * size * k) for k in range(per)) for i in range(count)]
        for word in (*words, *items[per * count :]):
            at += 1
            mixed = (word + at * STEP) & most
            for shift, factor in zip(SHIFTS, (FIRST, SECOND), strict=False):
                mixed = ((mixed ^ (mixed >> shift)) * factor) & most
            total += mixed ^ (mixed >> SHIFTS[2])
    return finished(total, str(array.dtype), array.shape)


@pytest.mark.parametrize("kind", TYPES)
def test_it_is_the_sum_that_it_is_defined_to_be(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 50)
    for length in LENGTHS:
        array = made(kind, length)
        assert sum_digest(array) == one_by_one(array)


def test_every_bit_counts() -> None:
    array = made("float32", (13, 11))
    bits = array.view(np.uint8).reshape(-1)
    digests = {sum_digest(array)}
    for place in range(bits.size):
        for bit in range(8):
            bits[place] ^= 1 << bit
            digests.add(sum_digest(array))
            bits[place] ^= 1 << bit
    assert len(digests) == 1 + 8 * bits.size


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", "float64"])
def test_elements_that_change_places_count(kind: str) -> None:
    array = made(kind, (24, 10))
    dice = np.random.default_rng(3)
    assert sum_digest(array[::-1]) != sum_digest(array) != sum_digest(array[:, ::-1])
    assert sum_digest(array.T) != sum_digest(np.ascontiguousarray(array.T).reshape(array.shape))
    seen = {sum_digest(array)}
    swaps = [(i, j) for i, j in dice.integers(0, array.size, (400, 2)) if array.flat[i] != array.flat[j]]
    for i, j in swaps:
        other = array.copy()
        other.flat[i], other.flat[j] = array.flat[j], array.flat[i]
        seen.add(sum_digest(other))
    pairs = {tuple(sorted(map(int, pair))) for pair in swaps}
    assert len(seen) == 1 + len(pairs)


def test_what_numbers_hide_counts() -> None:
    zeros = np.zeros(100, np.float32)
    assert sum_digest(zeros) != sum_digest(-zeros)
    quiet, other = (np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0x7FC00001))
    assert sum_digest(quiet) != sum_digest(other)
    for constant in (1e-3, 1.0, 2.0**24):
        assert sum_digest(zeros + np.float32(constant)) != sum_digest(zeros)


def test_type_shape_and_kind_of_digest_count() -> None:
    zeros = np.zeros(16, np.float32)
    others = [zeros.reshape(4, 4), zeros[:15], zeros.view(np.int32), np.zeros(16, np.float16)]
    assert len({sum_digest(each) for each in (zeros, *others)}) == 5
    assert all(sum_digest(each) != digest_array(each) for each in others)
    assert sum_digest(np.zeros((0, 3), np.float32)) != sum_digest(np.zeros((3, 0), np.float32))


def test_random_tensors_do_not_collide() -> None:
    dice = np.random.default_rng(7)
    tensors = dice.integers(0, 3, (20_000, 6)).astype(np.int8)  # few values: 729 tensors in all
    assert len({sum_digest(each) for each in tensors}) == len({each.tobytes() for each in tensors})
