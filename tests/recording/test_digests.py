"""Digests: the same bytes, element type and shape give the same digest, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from arrays import EXOTIC, NATIVE, WIDE, arrays, bools, dtype, strings
from hypothesis import given
from hypothesis import strategies as st

from twinrun.recording.digest import digest_array


def identity(array: np.ndarray) -> tuple[object, ...]:
    if array.dtype.kind == "O":
        return ("string", array.shape, tuple(array.ravel()))
    return (str(array.dtype), array.shape, array.tobytes())


any_array = st.one_of(arrays(), bools(), strings())


@given(any_array, any_array)
def test_digests_are_equal_exactly_where_bytes_type_and_shape_are(a: np.ndarray, b: np.ndarray) -> None:
    assert (digest_array(a) == digest_array(b)) == (identity(a) == identity(b))


@given(any_array)
def test_a_copy_has_the_same_digest(array: np.ndarray) -> None:
    assert digest_array(array.copy()) == digest_array(array)


@given(arrays((*NATIVE, *EXOTIC, *WIDE)), st.data())
def test_one_flipped_bit_changes_the_digest(array: np.ndarray, data: st.DataObject) -> None:
    raw = bytearray(array.tobytes())
    if not raw:
        return
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    flipped = np.frombuffer(bytes(raw), dtype=np.uint8).view(array.dtype).reshape(array.shape)
    assert digest_array(flipped) != digest_array(array)


@given(st.one_of(arrays(), bools()), st.randoms(use_true_random=False))
def test_memory_layout_does_not_matter(array: np.ndarray, random: object) -> None:
    transposed = np.ascontiguousarray(array.T).T.reshape(array.shape)
    padded = np.zeros((*array.shape[:-1], 2 * array.shape[-1]) if array.shape else (2,), array.dtype)
    strided = padded[..., ::2].reshape(array.shape) if not array.shape else padded[..., ::2]
    strided = strided.copy() if not array.shape else strided
    strided[...] = array
    assert digest_array(transposed) == digest_array(array)
    assert digest_array(strided) == digest_array(array)


@pytest.mark.parametrize("name", [*NATIVE, *EXOTIC, *WIDE, "bool"])
def test_the_same_zero_bytes_of_other_types_and_shapes_have_other_digests(name: str) -> None:
    kind = dtype(name)
    zeros = np.zeros(16 // kind.itemsize, kind)
    others = [
        np.zeros(16, np.uint8).view(dtype(other)) for other in (*NATIVE, *EXOTIC, *WIDE) if other != name
    ]
    shaped = [
        zeros.reshape(1, -1),
        zeros.reshape(-1, 1),
        np.zeros(0, kind),
        np.zeros((0, 3), kind),
        np.zeros((), kind),
    ]
    digests = [digest_array(array) for array in (zeros, *others, *shaped)]
    expected = len({identity(array) for array in (zeros, *others, *shaped)})
    assert len(set(digests)) == expected


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_two_zeros_and_two_nans_are_different_bits(name: str) -> None:
    kind = dtype(name)
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[kind.itemsize]
    quiet = np.array([np.nan], kind)
    payload = (quiet.view(unsigned) + 1).view(kind)
    assert np.isnan(payload.astype(np.float64)).all()
    assert digest_array(quiet) != digest_array(payload)
    assert digest_array(payload) == digest_array(payload.copy())
    assert digest_array(np.array([0.0], kind)) != digest_array(np.array([-0.0], kind))


def test_strings_are_told_apart_by_where_one_ends() -> None:
    ab_c, a_bc = np.array([b"ab", b"c"], dtype=object), np.array([b"a", b"bc"], dtype=object)
    nulls = np.array([b"a\0", b""], dtype=object)
    assert (
        len({digest_array(each) for each in (ab_c, a_bc, nulls, np.array([b"a", b"\0"], dtype=object))}) == 4
    )


@pytest.mark.parametrize("text", ["", "a", "zwölf", "\ud800", "\0"])
def test_text_and_its_bytes_have_one_digest(text: str) -> None:
    raw = np.array([text.encode("utf-8", "surrogatepass")], dtype=object)
    assert digest_array(np.array([text], dtype=object)) == digest_array(raw)


def test_time_stamps_and_records_can_be_digested() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    spans = days - days[0]
    pairs = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    for array in (days, spans, pairs, days.astype(">M8[D]")):
        assert digest_array(array) == digest_array(array.copy())
    assert digest_array(days) != digest_array(days[::-1])
