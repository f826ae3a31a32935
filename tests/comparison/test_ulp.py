"""ULP distance, held against counting representable numbers one by one."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.comparison.ulp import ulp_distance, widened

KINDS = {
    "float16": (np.dtype(np.float16), np.uint16),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), np.uint16),
    "float32": (np.dtype(np.float32), np.uint32),
    "float64": (np.dtype(np.float64), np.uint64),
}
FAR = 2**64 - 1
names = st.sampled_from(sorted(KINDS))


def of_bits(bits: list[int], name: str) -> np.ndarray:
    kind, unsigned = KINDS[name]
    return np.array(bits, dtype=unsigned).view(kind)


@st.composite
def pairs(draw: st.DrawFn, name: str | None = None) -> tuple[str, np.ndarray, np.ndarray]:
    chosen = name or draw(names)
    width = 8 * KINDS[chosen][0].itemsize
    count = draw(st.integers(1, 4))
    bits = st.lists(st.integers(0, 2**width - 1), min_size=count, max_size=count)
    return chosen, of_bits(draw(bits), chosen), of_bits(draw(bits), chosen)


def is_nan(value: np.ndarray) -> bool:
    return bool(np.isnan(widened(value)).any())


def place(bits: int, width: int) -> int:
    """How many representable numbers lie between 0 and this one, with its sign: plain Python integers."""
    magnitude = bits & (2 ** (width - 1) - 1)
    return -magnitude if bits >> (width - 1) else magnitude


@given(pairs())
def test_distance_is_the_count_of_numbers_between(pair: tuple[str, np.ndarray, np.ndarray]) -> None:
    name, a, b = pair
    kind, unsigned = KINDS[name]
    width = 8 * kind.itemsize
    found = ulp_distance(a, b)
    assert found.dtype == np.uint64 and found.shape == a.shape
    for index in range(a.size):
        x, y = int(a.view(unsigned)[index]), int(b.view(unsigned)[index])
        if x == y:
            expected = 0
        elif is_nan(a[index : index + 1]) or is_nan(b[index : index + 1]):
            expected = FAR
        else:
            expected = abs(place(x, width) - place(y, width))
        assert int(found[index]) == expected


@given(pairs())
def test_distance_is_symmetric_and_zero_to_itself(pair: tuple[str, np.ndarray, np.ndarray]) -> None:
    _, a, b = pair
    assert (ulp_distance(a, b) == ulp_distance(b, a)).all()
    assert (ulp_distance(a, a) == 0).all()


@given(names, st.integers(0, 2**64 - 1), st.integers(0, 40), st.booleans())
def test_walking_to_the_neighbour_n_times_is_n_ulp(name: str, seed: int, hops: int, up: bool) -> None:
    kind, _ = KINDS[name]
    start = of_bits([seed % 2 ** (8 * kind.itemsize)], name)
    if is_nan(start):
        return
    towards = np.array([np.inf if up else -np.inf], kind)
    step = ml_dtypes_nextafter if name == "bfloat16" else np.nextafter
    value, walked = start, 0
    for _ in range(hops):
        following = step(value, towards)
        if following.tobytes() == value.tobytes():  # arrived at infinity
            break
        # From the smallest negative number nextafter lands on -0.0, from there on the smallest positive one: -0.0 and
        # 0.0 are one number, so no step is lost.
        value, walked = following, walked + 1
    assert int(ulp_distance(start, value)[0]) == walked


def ml_dtypes_nextafter(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.nextafter(a, b), dtype=ml_dtypes.bfloat16)


@given(names, st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3))
def test_further_numbers_are_further_apart(name: str, seeds: list[int]) -> None:
    kind, _ = KINDS[name]
    values = [of_bits([seed % 2 ** (8 * kind.itemsize)], name) for seed in seeds]
    if any(is_nan(value) for value in values):
        return
    low, middle, high = sorted(values, key=lambda value: float(value.astype(np.float64)[0]))
    near, far = int(ulp_distance(low, middle)[0]), int(ulp_distance(low, high)[0])
    assert near <= far
    assert near + int(ulp_distance(middle, high)[0]) == far


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_landmarks(name: str) -> None:
    kind, unsigned = KINDS[name]
    width = 8 * kind.itemsize

    def at(a: object, b: object) -> int:
        return int(ulp_distance(np.array([a], kind), np.array([b], kind))[0])

    smallest = of_bits([1], name)[0]
    largest = of_bits([int(np.array([np.inf], kind).view(unsigned)[0]) - 1], name)[0]
    assert at(0.0, -0.0) == 0
    assert at(smallest, -smallest) == 2
    assert at(largest, np.inf) == 1
    assert at(-np.inf, np.inf) == 2 * int(np.array([np.inf], kind).view(unsigned)[0])
    assert at(np.nan, 1.0) == at(1.0, np.nan) == FAR
    assert at(np.nan, np.nan) == 0
    assert int(ulp_distance(of_bits([2**width - 1], name), of_bits([2 ** (width - 1) - 1], name))[0]) == FAR


def test_a_scalar_keeps_its_shape() -> None:
    assert ulp_distance(np.array(1.0), np.array(np.nextafter(1.0, 2.0))).shape == ()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 3)])
def test_any_shape_is_kept(shape: tuple[int, ...]) -> None:
    zeros = np.zeros(shape, np.float32)
    assert ulp_distance(zeros, zeros).shape == shape
    assert ulp_distance(zeros.T, zeros.T).shape == zeros.T.shape


def test_what_has_no_ulps_is_refused() -> None:
    for a, b in (
        (np.zeros(2, np.int32), np.zeros(2, np.int32)),
        (np.zeros(2, np.float32), np.zeros(3, np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
    ):
        with pytest.raises(ValueError, match="ULPs|measure"):
            ulp_distance(a, b)
