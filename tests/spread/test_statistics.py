"""The statistics on numbers of which everything is known. Simulations have fixed seeds, and always come out the same."""

from __future__ import annotations

import math
from statistics import NormalDist

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
STUDENT = 3.249836  # of which ten values leave one half of a percent outside, on each side
SKEWED = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 5.0]


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


def test_the_interval_is_about_as_wide_as_students_and_no_wider_than_it_must_be(quick: None) -> None:
    chance = np.random.default_rng(0)
    found = [summarise(chance.normal(MEAN, SD, RUNS)) for _ in range(200)]
    widths = [each.interval[1] - each.interval[0] for each in found if each.interval]
    sds = (
        SD * math.sqrt(2 / (RUNS - 1)) * math.gamma(RUNS / 2) / math.gamma((RUNS - 1) / 2)
    )  # of so few, on average
    wanted = 2 * STUDENT * sds / math.sqrt(RUNS)
    assert 0.95 * wanted < np.mean(widths) < 1.15 * wanted


def test_the_interval_reaches_further_on_the_side_of_the_tail() -> None:
    found = summarise(SKEWED)
    assert found.interval is not None and found.sd is not None
    student = STUDENT * found.sd / math.sqrt(RUNS)
    assert found.mean - found.interval[0] == pytest.approx(student)
    assert found.interval[1] - found.mean > 1.05 * student


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


@pytest.mark.parametrize(("runs", "paired"), [(10, False), (8, True), (15, True)])
def test_so_are_pairs_and_variants_with_more_ways_to_deal_their_runs_than_are_tried(
    quick: None, runs: int, paired: bool
) -> None:
    """Within what 400 rounds can tell of a rate of 5%: two standard deviations of a binomial count."""
    chance = np.random.default_rng(0)
    found = [statistics._permuted(*chance.normal(MEAN, SD, (2, runs)), paired=paired) for _ in range(400)]
    assert 0.01 < sum(p < LEVEL for p in found) / 400 <= LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / 400)


def test_what_a_seed_does_to_both_variants_alike_is_no_noise() -> None:
    chance = np.random.default_rng(0)
    seeds = chance.normal(0, 1, RUNS)
    a, b = list(seeds), list(seeds + 0.1 + chance.normal(0, 0.03, RUNS))
    apart, pairs = compare(a, b), compare(a, b, paired=True)
    assert apart.p > 0.5 and pairs.p < 0.01
    assert apart.interval is not None and pairs.interval is not None
    assert pairs.interval[0] > 0 > apart.interval[0]
    assert pairs.difference == apart.difference and pairs.effect == apart.effect
    assert apart.more is not None and apart.more > 1000 and pairs.more == 1


def test_the_interval_of_paired_variants_holds_the_true_difference_as_often_as_it_says() -> None:
    chance = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
        seeds = chance.normal(0, 1, RUNS)
        a, b = seeds + chance.normal(0, 0.1, RUNS), seeds + 0.3 + chance.normal(0, 0.1, RUNS)
        low, high = statistics._pairs_interval(list(a), list(b), float(b.mean() - a.mean()))
        held += low <= 0.3 <= high
    assert 0.93 < held / 1000 < 0.97


def test_a_baseline_of_the_most_typical_run_is_left_by_fewer_honest_runs_than_the_band_says() -> None:
    """As docs/explanation/seed-spread.md has it: about one in 600."""
    chance, normal = np.random.default_rng(0), NormalDist()
    left = []
    for _ in range(1000):
        values = chance.normal(0, 1, RUNS)
        band = recommended(list(values))
        assert band is not None
        typical = float(values[np.abs(values - values.mean()).argmin()])
        left.append(1 - normal.cdf(band.width - typical) + normal.cdf(-band.width - typical))
    assert 1 / 750 < np.mean(left) < 1 / 450


def test_comparing_many_metrics_does_not_make_a_false_difference_likelier() -> None:
    chance = np.random.default_rng(4)
    rounds = [[statistics._permuted(*chance.normal(0, 1, (2, 5))) for _ in range(5)] for _ in range(100)]
    assert sum(min(ps) < LEVEL for ps in rounds) > 10
    assert sum(min(holm(ps)) < LEVEL for ps in rounds) <= 100 * LEVEL


@pytest.mark.parametrize("paired", [False, True])
def test_a_large_difference_can_be_called_one_among_many_metrics_too(paired: bool) -> None:
    """Where as many ways to deal the runs are tried as for one metric, the smallest p is 0.0002, and 250 times that is 5%."""
    a, tests = [0.1 * n for n in range(20)], 300
    found = compare(a, [each + 9 for each in a], tests, paired=paired)
    assert min(holm([found.p] * tests)) < LEVEL and found.least_p * tests < LEVEL


def test_a_difference_of_many_standard_deviations_is_found_with_its_size() -> None:
    chance = np.random.default_rng(0)
    found = compare(list(chance.normal(0, 1, 8)), list(chance.normal(5, 1, 8)))
    assert found.p < 0.001 and found.interval is not None and found.effect is not None
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.difference > 3 and found.effect > 3


@pytest.mark.parametrize(
    ("effect", "paired", "runs"),
    [
        (0.2, False, 394),
        (0.5, False, 64),
        (0.8, False, 26),
        (0.2, True, 199),
        (0.5, True, 34),
        (0.8, True, 15),
    ],
)
def test_the_runs_that_settle_a_difference_are_those_of_the_textbook(
    effect: float, paired: bool, runs: int
) -> None:
    """Cohen's tables for two samples and for pairs, a level of 5% and a power of 80%."""
    assert runs_to_see(effect, paired=paired) == runs


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
    assert statistics._permuted([0.0] * 5, [9.0, 9.1, 9.2, 9.3, 9.4], paired=True) >= LEVEL
    assert statistics._permuted([0.0] * 6, [9.0, 9.1, 9.2, 9.3, 9.4, 9.5], paired=True) < LEVEL
    assert least_runs(paired=True) == 6


@pytest.mark.parametrize(
    ("a", "b", "paired"), [(3, 3, False), (2, 12, False), (4, 7, False), (5, 5, True), (7, 7, True)]
)
def test_the_least_p_is_what_the_test_gives_at_best(a: int, b: int, paired: bool) -> None:
    found = compare([0.1 * n for n in range(a)], [9 + 0.1 * n for n in range(b)], paired=paired)
    assert found.p == pytest.approx(found.least_p)


@pytest.mark.parametrize(
    ("a", "b", "paired", "more"),
    [
        ([1, 2, 3, 4], [2, 3, 4, 5], True, 2),  # six pairs are the least
        ([0.1, 0.2, 0.3, 0.4], [1.1, 1.2, 1.3, 1.4], True, 2),  # the same but for rounding
        ([1, 2, 3, 4], [2, 3, 4, 5.0000001], True, 2),
        ([0, 1], [5, 6.1], True, 4),  # of two pairs no spread is known well
        ([1, 1, 1], [2, 2, 2], False, 1),
        ([1, 2, 3, 4], [1, 2, 3, 4], True, None),
        ([1, 1, 1], [1, 1, 1], False, None),
    ],
)
def test_a_difference_that_hardly_varies_needs_no_more_runs_than_the_test_does(
    a: list[float], b: list[float], paired: bool, more: int | None
) -> None:
    found = compare(a, b, paired=paired)
    assert (found.more, found.p > LEVEL) == (more, True)
    if more:
        times = 1 + math.ceil(more / len(a))  # at least as many
        assert compare(a * times, b * times, paired=paired).p < LEVEL


def test_the_larger_the_effect_the_fewer_runs_show_it() -> None:
    for paired in (False, True):
        needed = [runs_to_see(10.0**power, paired=paired) or 10**9 for power in range(-3, 300, 3)]
        assert needed == sorted(needed, reverse=True)
        assert needed[-1] == runs_to_see(math.inf, paired=paired) == 2


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
