"""Arrays of every element type that a framework hands over, drawn by their bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

NATIVE = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
EXOTIC = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
WIDE = ("complex64", "complex128")


def dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name)) if name in EXOTIC else np.dtype(name)


def shapes(largest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, largest), max_size=3).map(tuple)


@st.composite
def arrays(draw: st.DrawFn, names: tuple[str, ...] = (*NATIVE, *EXOTIC, *WIDE)) -> np.ndarray:
    """Any bits at all: NaNs with payloads, infinities, subnormals and both zeros included."""
    kind = dtype(draw(st.sampled_from(names)))
    shape = draw(shapes())
    size = int(np.prod(shape)) * kind.itemsize
    return (
        np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8).view(kind).reshape(shape)
    )


@st.composite
def bools(draw: st.DrawFn) -> np.ndarray:
    shape = draw(shapes())
    count = int(np.prod(shape))
    return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool).reshape(shape)


@st.composite
def strings(draw: st.DrawFn) -> np.ndarray:
    """As TensorFlow hands them over: an object array of bytes."""
    shape = draw(shapes(3))
    items = np.empty(int(np.prod(shape)), dtype=object)
    for index in range(items.size):
        items[index] = draw(st.binary(max_size=5))
    return items.reshape(shape)
