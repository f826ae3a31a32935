"""Contracts: how equal is equal, whichever twin comes first."""

from __future__ import annotations

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.comparison.contract import Band, parse_contract
from twinrun.comparison.ulp import ulp_distance
from twinrun.errors import UsageError
from twinrun.recording.frame import GIVEN

tolerances = st.floats(0, 1e6, allow_nan=False)
metrics = st.text("abcxyz_/", min_size=1, max_size=8)
anything = st.floats(width=32)


@st.composite
def texts(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["bitwise", "ulp", "rtol", "atol", "both", "band"]))
    if kind == "ulp":
        return f"ulp={draw(st.integers(0, 2**63))}"
    if kind == "both":
        return f"rtol={draw(tolerances)!r},atol={draw(tolerances)!r}"
    if kind == "band":
        widths = st.builds("{}{}".format, tolerances, st.sampled_from(["", "%"]))
        bands = draw(st.lists(st.tuples(metrics, widths), min_size=1, max_size=3))
        return "band=" + ",".join(f"{metric}:{width}" for metric, width in bands)
    return kind if kind == "bitwise" else f"{kind}={draw(tolerances)!r}"


@given(texts())
def test_a_contract_reads_back_from_its_own_text(text: str) -> None:
    contract = parse_contract(text)
    assert parse_contract(str(contract)) == contract
    assert [contract.bitwise, contract.numeric, bool(contract.bands)].count(True) == 1


@given(texts(), st.lists(anything, min_size=1, max_size=3), st.lists(anything, min_size=1, max_size=3))
def test_a_contract_does_not_care_which_twin_is_first(text: str, x: list[float], y: list[float]) -> None:
    contract = parse_contract(text)
    for kind in (np.float32, np.float64, ml_dtypes.bfloat16, np.complex64):
        a, b = np.array(x, kind), np.array(y, kind)
        assert contract.holds(a, b) == contract.holds(b, a)


@given(texts(), st.lists(anything, min_size=1, max_size=3))
def test_equal_bits_keep_every_contract(text: str, values: list[float]) -> None:
    contract = parse_contract(text)
    for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64):
        with np.errstate(over="ignore"):
            array = np.array(values).astype(kind)
        assert contract.holds(array, array.copy())


@given(st.integers(0, 2**32), anything, anything)
def test_ulp_counts_numbers(allowed: int, x: float, y: float) -> None:
    a, b = np.array([x], np.float32), np.array([y], np.float32)
    assert parse_contract(f"ulp={allowed}").holds(a, b) == (int(ulp_distance(a, b)[0]) <= allowed)


finite = st.floats(-(2.0**100), 2.0**100, width=32)


@given(finite, finite, st.floats(0, 1), st.floats(0, 1e10))
def test_tolerances_are_relative_to_the_larger_number(x: float, y: float, rtol: float, atol: float) -> None:
    a, b = np.array([x], np.float32), np.array([y], np.float32)
    expected = abs(x - y) <= atol + rtol * max(abs(x), abs(y))
    assert parse_contract(f"rtol={rtol!r},atol={atol!r}").holds(a, b) == expected


AUTO = "rtol=auto,atol=auto"


@pytest.mark.parametrize(
    ("kind", "half"),
    [(np.float64, 1.5e-8), (np.float32, 3.5e-4), (np.complex64, 3.5e-4), (np.float16, 3.1e-2), (ml_dtypes.bfloat16, 8.8e-2)],
)  # fmt: skip
def test_auto_is_half_of_the_digits_of_the_type(kind: type, half: float) -> None:
    zero, one = np.zeros(3, kind), np.ones(3, kind)
    contract = parse_contract(AUTO)
    assert contract.holds(zero, (zero + 0.9 * half).astype(kind))
    assert not contract.holds(zero, (zero + 1.3 * half).astype(kind))
    assert contract.holds(one, (one + 1.7 * half).astype(kind))
    assert not contract.holds(one, (one + 2.3 * half).astype(kind))


def test_a_loss_that_is_a_python_float_is_taken_for_one_of_32_bits() -> None:
    a, b = np.array([1.0]), np.array([1.0001])
    contract = parse_contract(AUTO)
    assert contract.holds(a, b, "loss") and contract.holds(a, b, "metric")
    assert not contract.holds(a, b, "weights")


@pytest.mark.parametrize("text", [AUTO, "ulp=9", "atol=9"])
def test_what_must_be_exact_is_compared_bit_for_bit_whatever_else_may_differ(text: str) -> None:
    contract = replace(parse_contract(text), exact=GIVEN)
    for kind in (np.float32, np.complex64):
        a = np.array([1.0], kind)
        b = np.array([np.nextafter(np.float32(1), np.float32(2))], kind)
        assert not contract.holds(a, b, "batch") and contract.holds(a, a.copy(), "batch")
    assert contract.holds(np.float32([1.0]), np.nextafter(np.float32([1.0]), np.float32(2)), "weights")


@pytest.mark.parametrize("text", ["rtol=0.5", "atol=1e30", "rtol=1,atol=1e300"])
def test_tolerances_never_bridge_infinity_or_nan(text: str) -> None:
    contract = parse_contract(text)
    for x, y in ((math.inf, 1.0), (math.inf, -math.inf), (math.nan, 1.0), (math.nan, math.inf)):
        a, b = np.array([x]), np.array([y])
        assert not contract.holds(a, b) and not contract.holds(b, a)
    assert contract.holds(np.array([math.inf, math.nan]), np.array([math.inf, math.nan]))


@pytest.mark.parametrize("text", ["bitwise", "ulp=9", "rtol=1", "atol=9"])
def test_what_has_no_distance_must_be_equal_bit_for_bit(text: str) -> None:
    contract = parse_contract(text)
    for a, b in (
        (np.array([1]), np.array([2])),
        (np.array([True]), np.array([False])),
        (np.array([b"a"], dtype=object), np.array([b"b"], dtype=object)),
        (np.zeros(2, np.float32), np.zeros(3, np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
    ):
        assert not contract.holds(a, b)
        assert contract.holds(a, a.copy()) and contract.holds(b, b.copy())


@given(finite, finite, st.floats(0, 1e10))
def test_an_absolute_band_is_a_width(x: float, y: float, width: float) -> None:
    band = Band("loss", width, relative=False)
    assert band.holds(x, y) == band.holds(y, x) == (abs(x - y) <= width)


@given(finite, finite, st.floats(0, 2))
def test_a_relative_band_is_a_share_of_the_larger_value(x: float, y: float, width: float) -> None:
    band = Band("accuracy", width, relative=True)
    assert band.holds(x, y) == band.holds(y, x) == (abs(x - y) <= width * max(abs(x), abs(y)))


@pytest.mark.parametrize(
    "band", [Band("loss", 1e300, False), Band("loss", 0.5, True), Band("loss", 10, True)]
)
def test_a_band_never_reaches_infinity_or_nan(band: Band) -> None:
    for x, y in ((math.inf, 1.0), (math.inf, -math.inf), (math.nan, 1.0)):
        assert not band.holds(x, y) and not band.holds(y, x)
    assert band.holds(math.inf, math.inf) and band.holds(math.nan, math.nan)


def test_bands_are_read_as_written() -> None:
    contract = parse_contract("band=loss:1e-3,val/accuracy:0.5%")
    assert contract.bands == (Band("loss", 1e-3, False), Band("val/accuracy", 0.005, True))
    assert [str(band) for band in contract.bands] == ["loss:0.001", "val/accuracy:0.5%"]


@pytest.mark.parametrize(
    "text",
    ["ulp", "ulp=", "ulp=1.5", "ulp=-1", "rtol=x", "rtol=-1", "rtol=inf", "atol=nan", "band=loss", "band=:1", "band=loss:",
     "band=loss:%", "bytes", "ulp=1,rtol=1", "band=loss:1,ulp=2", "rtol=1,", "ulp=1,ulp=2", "rtol=1,rtol=2",
     "band=loss:1%%", "bitwise,ulp=1"],
)  # fmt: skip
def test_a_contract_that_makes_no_sense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_contract(text)
    assert "ulp=4" in str(caught.value.hint)
