"""The contract: how equal is equal. `bitwise`, `ulp=N`, `rtol=…,atol=…`, metric bands such as
`band=loss:1e-3,accuracy:0.5%`, or `output`: what the program prints and the files it leaves, and nothing else.

A tolerance of `auto` is the square root of the distance from 1 to the next number of the tensor's type: half of its digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import ml_dtypes
import numpy as np

from twinrun.comparison.ulp import is_float, ulp_distance, widened
from twinrun.errors import UsageError
from twinrun.recording.frame import MEASURED

_HINT = "write bitwise, ulp=4, rtol=1e-5,atol=1e-8, band=loss:1e-3,accuracy:0.5%, or output"
Tolerance = float | Literal["auto"]


@dataclass(frozen=True)
class Band:
    metric: str
    width: float
    relative: bool

    def holds(self, a: float, b: float) -> bool:
        if a == b or (math.isnan(a) and math.isnan(b)):
            return True
        # Relative to the larger of the two, so that the order of the twins does not matter.
        allowed = self.width * max(abs(a), abs(b)) if self.relative else self.width
        return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= allowed

    def __str__(self) -> str:
        return f"{self.metric}:{self.width * 100:g}%" if self.relative else f"{self.metric}:{self.width:g}"


@dataclass(frozen=True)
class Contract:
    text: str
    ulp: int | None = None
    rtol: Tolerance | None = None
    atol: Tolerance | None = None
    bands: tuple[Band, ...] = ()
    output: bool = False  # what the program delivers is judged, and nothing else
    exact: frozenset[str] = frozenset()  # phases that must be equal bit for bit all the same

    @property
    def bitwise(self) -> bool:
        return not self.bands and not self.numeric and not self.output

    @property
    def numeric(self) -> bool:
        """Needs the values of tensors whose digests differ."""
        return self.ulp is not None or self.rtol is not None or self.atol is not None

    def holds(self, a: np.ndarray, b: np.ndarray, phase: str = "") -> bool:
        """Whether two tensors of a phase are equal enough. What cannot be measured must be equal bit for bit."""
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        near = (self.rtol is not None or self.atol is not None) and phase not in self.exact
        if near and (is_float(a.dtype) or a.dtype.kind == "c"):
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            return self._close(widened(a, wide), widened(b, wide), _spacing(a.dtype, phase in MEASURED))
        if self.ulp is not None and is_float(a.dtype) and phase not in self.exact:
            return a.dtype.itemsize in (2, 4, 8) and (
                a.size == 0 or int(ulp_distance(a, b).max()) <= self.ulp
            )
        return a.tobytes() == b.tobytes() if a.dtype.kind != "O" else bool((a == b).all())

    def _close(self, a: np.ndarray, b: np.ndarray, spacing: float) -> bool:
        """Relative to the larger of the two (np.allclose measures by its second argument), so that the order of the
        twins does not matter. Infinities and NaNs are close to nothing but themselves."""
        atol, rtol = (
            math.sqrt(spacing) if each == "auto" else each or 0.0 for each in (self.atol, self.rtol)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = atol + rtol * np.maximum(np.abs(a), np.abs(b))
            near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= allowed)
        return bool((near | (a == b) | (np.isnan(a) & np.isnan(b))).all())

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=64)
def _spacing(dtype: np.dtype, measured: bool) -> float:
    """From 1 to the next number of this type. A loss or metric that is a Python float was most often computed in 32 bits."""
    if measured and dtype == np.float64:
        dtype = np.dtype(np.float32)
    if dtype.kind == "c":
        return float(np.finfo(dtype).eps)
    return float(ml_dtypes.finfo(dtype).eps) if is_float(dtype) else 0.0


BITWISE = Contract("bitwise")
OUTPUT = Contract("output", output=True)


def parse_contract(text: str) -> Contract:
    text = text.strip()
    if text in ("", "bitwise"):
        return BITWISE
    if text == "output":
        return OUTPUT
    numbers: dict[str, Tolerance] = {}
    bands: list[Band] = []
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if name == "band" or (bands and not equals):
            bands.append(_band(value if equals else name))
        elif name in ("ulp", "rtol", "atol") and name not in numbers:
            kind = int if name == "ulp" else float
            numbers[name] = "auto" if value == "auto" and kind is float else _number(value, kind)
        else:
            raise UsageError(f"unknown contract {text!r}", hint=_HINT)
    if bands and numbers:
        raise UsageError(
            "a contract is either about tensors (ulp, rtol, atol) or about metrics (band)", hint=_HINT
        )
    if "ulp" in numbers and len(numbers) > 1:
        raise UsageError("give ulp or rtol/atol, not both", hint=_HINT)
    return Contract(text, bands=tuple(bands), **numbers)  # type: ignore[arg-type]


def _band(text: str) -> Band:
    metric, colon, width = text.rpartition(":")
    if not colon or not metric:
        raise UsageError(f"a band is metric:width, not {text!r}", hint=_HINT)
    relative = width.endswith("%")
    return Band(metric, _number(width.removesuffix("%")) / (100 if relative else 1), relative)


def _number(text: str, kind: type[int] | type[float] = float) -> float:
    try:
        value = kind(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a {'whole ' if kind is int else ''}number", hint=_HINT) from None
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"a tolerance must be a finite number of at least 0, not {text}", hint=_HINT)
    return value
