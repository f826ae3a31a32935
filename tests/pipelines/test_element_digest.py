"""Properties of element digests, without TensorFlow: what must count does, what must not does not."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from twinrun.pipelines.stream_fingerprint import ElementDigest, data_fingerprint, element_digest

ARRAYS = arrays.arrays(
    st.sampled_from(
        [np.dtype(name) for name in ("float32", "int64", "uint8", "bool", "complex64", "float16")]
    ),
    arrays.array_shapes(min_dims=0, max_dims=3, max_side=4),
)
ELEMENTS = st.one_of(
    ARRAYS, st.tuples(ARRAYS, ARRAYS), st.dictionaries(st.sampled_from("abc"), ARRAYS, min_size=1)
)


def _digest(elements: list[Any]) -> ElementDigest:
    running = ElementDigest()
    for element in elements:
        running.add(element)
    return running


@given(st.lists(ELEMENTS, max_size=8), st.randoms(use_true_random=False))
def test_another_order_changes_the_ordered_digest_only(elements: list[Any], chance: random.Random) -> None:
    shuffled = list(elements)
    chance.shuffle(shuffled)
    first, second = _digest(elements).fingerprint(), _digest(shuffled).fingerprint()
    assert first.unordered == second.unordered
    same = [element_digest(one) for one in elements] == [element_digest(one) for one in shuffled]
    assert (first.ordered == second.ordered) == same


@given(ARRAYS, ARRAYS)
def test_digests_are_equal_exactly_when_type_shape_and_bits_are(one: np.ndarray, other: np.ndarray) -> None:
    same = one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    assert (element_digest(one) == element_digest(other)) == same
    assert element_digest(one) == element_digest(one.copy(order="F"))


@given(st.lists(ELEMENTS, min_size=1, max_size=6), st.lists(ELEMENTS, min_size=1, max_size=3))
def test_data_that_is_added_or_taken_away_is_other_data(elements: list[Any], more: list[Any]) -> None:
    assert data_fingerprint(elements).compared_with(data_fingerprint(elements + more)) == "other data"
    assert data_fingerprint(elements).compared_with(data_fingerprint(elements)) == "same"


def test_importing_the_package_imports_no_framework() -> None:
    code = (
        "import sys, twinrun.pipelines as data\n"
        "data.element_rng(1, seed=2), data.data_fingerprint([1, 2]), data.note_sites, data.audit, data.repeatable\n"
        "print([name for name in ('tensorflow', 'keras') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
