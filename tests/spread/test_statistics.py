"""The statistics on numbers of which everything is known. Simulations have fixed seeds, and always come out the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinrun.spread import statistics
from twinrun.spread.statistics import (
    LEVEL,
    compare,
    holm,
    least_runs,
    recommended,
    runs_to_see,
    strongest,
    summarise,
)

MEAN, SD, RUNS = 0.912, 0.004, 10


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer resamples: what a simulation repeats a hundred times need not be as smooth as what a user reads."""
    monkeypatch.setattr(statistics, "_RESAMPLES", 999)


def test_the_interval_holds_the_true_mean_in_at_least_95_of_100_repetitions(quick: None) -> None:
    chance = np.random.default_rng(0)
    found = [summarise(chance.normal(MEAN, SD, RUNS)).interval for _ in range(100)]
    assert sum(low <= MEAN <= high for low, high in filter(None, found)) >= 95


def test_it_holds_the_true_mean_of_a_skewed_distribution_too(quick: None) -> None:
    chance = np.random.default_rng(0)
    found = [summarise(chance.exponential(1.0, RUNS)).interval for _ in range(100)]
    assert sum(low <= 1.0 <= high for low, high in filter(None, found)) >= 90


def test_the_interval_of_the_standard_deviation_holds_the_true_one_as_often_as_it_says() -> None:
    chance = np.random.default_rng(2)
    found = [
        statistics._sd_interval(RUNS, float(chance.normal(0, SD, RUNS).std(ddof=1))) for _ in range(2000)
    ]
    assert 0.94 < sum(low <= SD <= high for low, high in found) / 2000 < 0.96


def test_as_many_honest_runs_leave_a_recommended_band_as_it_says() -> None:
    """A band is made of ten runs; a baseline is one run more, and what is checked against it another."""
    chance = np.random.default_rng(0)
    for one_in in (20, 100):
        left = []
        for _ in range(400):
            band = recommended(list(chance.normal(MEAN, SD, RUNS)), one_in)
            assert band is not None and band.rate <= 1 / one_in
            baseline, checked = chance.normal(MEAN, SD, (2, 500))
            left.append(float((np.abs(baseline - checked) > band.width).mean()))
        assert 0.7 / one_in < np.mean(left) < 1.2 / one_in


def test_identical_variants_are_called_different_no_more_often_than_the_level_says() -> None:
    chance = np.random.default_rng(0)
    called = sum(statistics._permuted(*chance.normal(MEAN, SD, (2, 5))) < LEVEL for _ in range(400))
    assert called / 400 <= LEVEL


def test_comparing_many_metrics_does_not_make_a_false_difference_likelier() -> None:
    chance = np.random.default_rng(4)
    rounds = [[statistics._permuted(*chance.normal(0, 1, (2, 5))) for _ in range(5)] for _ in range(100)]
    assert sum(min(ps) < LEVEL for ps in rounds) > 10
    assert sum(min(holm(ps)) < LEVEL for ps in rounds) <= 100 * LEVEL


def test_a_difference_of_many_standard_deviations_is_found_with_its_size() -> None:
    chance = np.random.default_rng(0)
    found = compare(list(chance.normal(0, 1, 8)), list(chance.normal(5, 1, 8)))
    assert found.p < 0.001 and found.interval is not None and found.effect is not None
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.difference > 3 and found.effect > 3


@pytest.mark.parametrize(("effect", "runs"), [(0.2, 394), (0.5, 64), (0.8, 26)])
def test_the_runs_that_settle_a_difference_are_those_of_the_textbook(effect: float, runs: int) -> None:
    """Cohen's table for two samples, a level of 5% and a power of 80%."""
    assert runs_to_see(effect) == runs


def test_more_seeds_are_recommended_where_they_would_help() -> None:
    a, b = [0.0, 1.0, 2.0, 3.0, 4.0], [0.5, 1.5, 2.5, 3.5, 4.5]
    found = compare(a, b)
    assert found.p > LEVEL and found.effect is not None
    assert found.more == (runs_to_see(found.effect) or 0) - 5
    assert compare(a, a).more is None
    assert compare(a, [each + 1e-6 for each in a]).more is None


def test_too_few_runs_can_never_show_a_difference() -> None:
    assert statistics._permuted([0.0, 0.1, 0.2], [9.0, 9.1, 9.2]) >= LEVEL
    assert statistics._permuted([0.0, 0.1, 0.2, 0.3], [9.0, 9.1, 9.2, 9.3]) < LEVEL
    assert least_runs() == 4 and least_runs(tests=10) > 4


def test_the_source_that_moves_a_metric_most_is_told_from_the_next_or_not() -> None:
    chance = np.random.default_rng(0)
    wide, narrow = list(chance.normal(0, 10, 10)), list(chance.normal(0, 1, 10))
    most = strongest({"data": narrow, "weights": wide, "dropout": [1.0] * 10})
    assert most is not None and (most.source, most.next, most.clear) == ("weights", "data", True)
    close = strongest({"data": narrow, "weights": [1.2 * each for each in narrow]})
    assert close is not None and (close.source, close.clear) == ("weights", False)
    alone = strongest({"data": narrow, "dropout": [1.0] * 10})
    assert alone is not None and (alone.source, alone.next, alone.clear) == ("data", None, True)
    assert strongest({"dropout": [1.0] * 10}) is None


def test_what_does_not_move_has_no_spread_and_no_band() -> None:
    found = summarise([0.1] * 10)
    assert (found.mean, found.sd, found.interval) == (0.1, 0.0, (0.1, 0.1))
    assert recommended([0.1] * 10) is None


def test_one_run_has_no_spread() -> None:
    found = summarise([0.5])
    assert (found.runs, found.mean, found.sd, found.interval) == (1, 0.5, None, None)
    assert compare([0.5], [0.7, 0.8]).p == 1.0


def test_the_same_numbers_give_the_same_figures() -> None:
    values = [0.91, 0.912, 0.9, 0.92, 0.915]
    assert summarise(values) == summarise(values)
    assert compare(values, values[::-1]) == compare(values, values[::-1])


def test_values_that_are_far_from_normal_make_the_rate_doubtful() -> None:
    assert recommended([0.9] * 9 + [0.1]) is not None
    found = recommended([0.9] * 8 + [0.90001, 0.1])
    assert found is not None and found.doubtful


numbers = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@settings(deadline=None, max_examples=30)
@given(st.lists(numbers, min_size=3, max_size=8))
def test_figures_of_any_numbers_fit_each_other(values: list[float]) -> None:
    found = summarise(values)
    assert found.sd is not None and found.interval is not None
    assert found.low <= found.mean <= found.high or math.isclose(found.low, found.high)
    assert found.interval[0] <= found.mean <= found.interval[1]
    band = recommended(values)
    assert (band is None) == (not found.moves)
    assert band is None or (band.width > 0 and 0 <= band.rate <= 0.011)
