"""Two tensors element by element, held against looking at each element in turn."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.comparison.tensors import distance

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two float arrays of one type and shape that share some of their elements."""
    kind = np.dtype(draw(st.sampled_from(FLOATS)))
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[kind.itemsize]
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    count = int(np.prod(shape))
    bits = st.integers(0, 2 ** (8 * kind.itemsize) - 1)
    a = np.array(draw(st.lists(bits, min_size=count, max_size=count)), unsigned)
    b = a.copy()
    for index in draw(st.lists(st.integers(0, count - 1), max_size=count)):
        b[index] = draw(bits)
    return a.view(kind).reshape(shape), b.view(kind).reshape(shape)


@given(neighbours())
def test_count_share_and_first_index_are_those_of_the_bits(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    found = distance(a, b)
    unlike = [index for index in np.ndindex(a.shape) if a[index].tobytes() != b[index].tobytes()]
    assert (found.differing_count, found.size) == (len(unlike), a.size)
    assert found.differing == len(unlike) / a.size
    assert found.first_index == (unlike[0] if unlike else None)


@given(neighbours())
def test_the_largest_gap_is_the_largest_finite_one(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    found = distance(a, b)
    unlike = [index for index in np.ndindex(a.shape) if a[index].tobytes() != b[index].tobytes()]
    gaps = [abs(float(a[index]) - float(b[index])) for index in unlike]
    finite = [gap for gap in gaps if math.isfinite(gap)]
    if found.differing_count:
        assert found.max_abs == (max(finite) if finite else None)


@given(neighbours())
def test_distance_does_not_depend_on_who_is_first(pair: tuple[np.ndarray, np.ndarray]) -> None:
    one, other = distance(*pair), distance(*reversed(pair))
    assert (one.differing_count, one.max_ulp, one.max_abs, one.first_index) == (
        other.differing_count,
        other.max_ulp,
        other.max_abs,
        other.first_index,
    )


@pytest.mark.parametrize("kind", FLOATS)
def test_zeros_of_both_signs_are_said_in_words(kind: type) -> None:
    found = distance(np.array([1.0, 0.0], kind), np.array([1.0, -0.0], kind))
    assert (found.differing_count, found.max_ulp, found.max_abs, found.first_index) == (1, 0, 0.0, (1,))
    assert found.note is not None and "-0.0" in found.note


@pytest.mark.parametrize("kind", FLOATS)
def test_nan_payloads_are_said_in_words(kind: type) -> None:
    quiet = np.array([np.nan], kind)
    other = quiet.view(f"u{quiet.itemsize}") ^ 1
    found = distance(quiet, other.view(kind))
    assert found.differing_count == 1 and found.max_ulp is None and "payload" in str(found.note)
    assert "NaN in one" in str(distance(quiet, np.array([1.0], kind)).note)


def test_integers_are_measured_without_overflow() -> None:
    low, high = np.array([np.iinfo(np.int64).min, 5]), np.array([np.iinfo(np.int64).max, 5])
    assert distance(low, high).max_abs == float(2**64 - 1)
    near = np.array([2**63 - 1, 0]), np.array([2**63 - 2, 0])
    assert distance(*near).max_abs == 1.0
    assert distance(np.array([True, False]), np.array([True, True])).max_abs == 1.0


def test_strings_shapes_types_and_nothing() -> None:
    words = np.array([b"a", b"b"], dtype=object), np.array([b"a", b"c"], dtype=object)
    found = distance(*words)
    assert (found.differing_count, found.first_index, found.first_values) == (1, (1,), ("b'b'", "b'c'"))
    assert found.max_abs is None and found.max_ulp is None
    assert "[2] against float32[3]" in str(distance(np.zeros(2, np.float32), np.zeros(3, np.float32)).note)
    assert "int32[2] against int64[2]" in str(distance(np.zeros(2, np.int32), np.zeros(2, np.int64)).note)
    assert distance(np.zeros(0), np.zeros(0)).differing_count == 0


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4"])
def test_narrow_types_are_compared_by_value_without_ulps(name: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, name))
    found = distance(np.array([1, 2], kind), np.array([1, 3], kind))
    assert (found.differing_count, found.max_ulp, found.max_abs, found.first_index) == (1, None, 1.0, (1,))


def test_complex_numbers_are_measured_absolutely() -> None:
    found = distance(np.array([1 + 1j]), np.array([1 + 4j]))
    assert (found.differing_count, found.max_ulp, found.max_abs) == (1, None, 3.0)
