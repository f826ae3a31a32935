"""Two tensors element by element: how many differ, by how much, and where first."""

from __future__ import annotations

import numpy as np

from twinrun.comparison.frames import Distance
from twinrun.comparison.ulp import is_float, ulp_distance, widened
from twinrun.masking import mask_tokens


def distance(a: np.ndarray, b: np.ndarray) -> Distance:
    if a.dtype != b.dtype or a.shape != b.shape:
        note = f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
        size = max(a.size, b.size)
        return Distance(differing=1.0, differing_count=size, size=size, note=note)
    different = _bits_differ(a, b)
    count = int(different.sum())
    if count == 0:
        return Distance(differing=0.0, differing_count=0, size=a.size)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(different)), a.shape))
    return Distance(
        differing=count / a.size,
        differing_count=count,
        size=a.size,
        max_ulp=_max_ulp(a, b),
        max_abs=_max_abs(a, b),
        first_index=index,
        first_values=(_show(a[index]), _show(b[index])),
        note=_note(a, b, different),
    )


def _bits_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "OSU":
        return np.asarray(a != b)
    raw_a, raw_b = (np.ascontiguousarray(each).reshape(-1, 1).view(np.uint8) for each in (a, b))
    return np.asarray((raw_a != raw_b).any(axis=1)).reshape(a.shape)


def _max_ulp(a: np.ndarray, b: np.ndarray) -> int | None:
    if not is_float(a.dtype) or a.dtype.itemsize not in (2, 4, 8):
        return None
    largest = int(ulp_distance(a, b).max())
    return None if largest == 2**64 - 1 else largest


def _max_abs(a: np.ndarray, b: np.ndarray) -> float | None:
    if a.dtype.kind in "OSU":
        return None
    if a.dtype.kind in "iub":
        # The pair furthest apart is subtracted as Python integers: differences of int64 can overflow.
        at = int(np.argmax(np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))))
        return float(abs(int(a.flat[at]) - int(b.flat[at])))
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a.astype(kind) - b.astype(kind))
    gap = gap[np.isfinite(gap)]
    return float(gap.max()) if gap.size else None


def _note(a: np.ndarray, b: np.ndarray, different: np.ndarray) -> str | None:
    if not is_float(a.dtype):
        return None
    x, y = widened(a[different]), widened(b[different])
    if bool((x == y).all()):
        return "the numbers are equal and their bits are not: 0.0 against -0.0"
    if bool((np.isnan(x) & np.isnan(y)).all()):
        return "NaN in both, with different payloads"
    if bool((np.isnan(x) != np.isnan(y)).any()):
        return "NaN in one only"
    return None


def _show(value: object) -> str:
    if isinstance(value, bytes):  # masked first: half a token does not look like one
        return repr(mask_tokens(value.decode("latin-1")).encode("latin-1")[:40])
    if isinstance(value, np.generic) and is_float(value.dtype):
        return repr(float(value))
    return mask_tokens(str(value))[:40]
