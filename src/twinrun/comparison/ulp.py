"""ULP distance: how many representable numbers lie between two floats. Vectorised, for 16, 32 and 64 bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np

_INTEGER: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


def is_float(dtype: np.dtype) -> bool:
    """NumPy's own floats, and bfloat16, which NumPy sees as an unknown 2-byte type."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def widened(array: np.ndarray, kind: Any = np.float64) -> np.ndarray:
    """The values as float64, which NumPy fully supports. Signalling NaNs would make it warn."""
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(kind)


def _bits(array: np.ndarray) -> np.ndarray:
    # A scalar would come out of ascontiguousarray with one dimension.
    bits: np.ndarray = np.ascontiguousarray(array).view(_INTEGER[array.dtype.itemsize]).reshape(array.shape)
    return bits


def ordered(array: np.ndarray) -> np.ndarray:
    """The bits as integers that grow with the number: negative floats are mirrored below zero, and -0.0 equals 0.0."""
    kind = _INTEGER[array.dtype.itemsize]
    bits = _bits(array).astype(np.int64)
    lowest = np.int64(np.iinfo(kind).min)
    return np.where(bits < 0, lowest - bits, bits)


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Elementwise, as uint64. Equal bits are 0, whatever they mean; 0.0 and -0.0 are 0 apart; a NaN and anything
    with other bits are as far apart as can be."""
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ValueError(f"cannot measure {a.dtype}{a.shape} against {b.dtype}{b.shape}")
    if not is_float(a.dtype) or a.dtype.itemsize not in _INTEGER:
        raise ValueError(f"ULPs are defined for 16, 32 and 64 bit floats, not for {a.dtype}")
    x, y = ordered(a), ordered(b)
    # As unsigned numbers the difference cannot overflow: modulo 2**64 is exact for the true distance.
    distance = np.where(
        x > y, x.astype(np.uint64) - y.astype(np.uint64), y.astype(np.uint64) - x.astype(np.uint64)
    )
    lost = (np.isnan(widened(a)) | np.isnan(widened(b))) & (_bits(a) != _bits(b))
    return np.where(lost, np.uint64(2**64 - 1), distance)
