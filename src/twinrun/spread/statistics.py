"""The statistics of a handful of numbers, one from each run: how they spread, how wide a band must be, and whether two
variants differ. Knows nothing of programs. What is assumed, and why, is in docs/explanation/seed-spread.md."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twinrun.errors import TwinrunError

if TYPE_CHECKING:
    from scipy import stats
else:
    from twinrun.frameworks.lazy import Lazy

    stats = Lazy("scipy.stats")

LEVEL = 0.05  # of tests, and of what intervals leave out
OUTSIDE = 0.01  # of the means: what their interval leaves out
POWER = 0.8
MOST_SEEDS = 10_000  # that are worth recommending
_RESAMPLES = 9999
_SEED = 20_240_229  # of the resampling: the same numbers give the same figures

Interval = tuple[float, float]


class NeedsScipy(TwinrunError):
    """SciPy is not installed."""


def must_have_scipy() -> None:
    """Before anything is run for figures that could not be made."""
    try:
        import scipy.stats  # noqa: F401
    except ImportError:
        raise NeedsScipy(
            "twinrun spread needs SciPy, which is not installed", hint="pip install 'twinrun[spread]'"
        ) from None


@dataclass(frozen=True)
class Summary:
    """`interval` is where the mean lies, with 99% confidence, `sd_interval` where the standard deviation does, with 95%. A
    single run has neither."""

    runs: int
    mean: float
    low: float
    high: float
    sd: float | None = None
    interval: Interval | None = None
    sd_interval: Interval | None = None

    @property
    def moves(self) -> bool:
        return self.low != self.high


def summarise(values: Sequence[float]) -> Summary:
    """Summarise finite values, at least one."""
    array = np.asarray(values, np.float64)
    low, high = float(array.min()), float(array.max())
    if len(array) < 2:
        return Summary(len(array), low, low, high)
    if low == high:  # the mean of equal numbers may differ from them in the last digit
        return Summary(len(array), low, low, high, 0.0, (low, low), (0.0, 0.0))
    mean, sd = float(array.mean()), float(array.std(ddof=1))
    return Summary(
        len(array), mean, low, high, sd, _mean_interval(array, mean, sd), _sd_interval(len(array), sd)
    )


def _mean_interval(array: np.ndarray, mean: float, sd: float) -> Interval:
    """The bootstrap's (BCa), which follows a skewed distribution, and never narrower than Student's: from ten values
    the bootstrap alone comes out too narrow."""
    half = float(stats.t.isf(OUTSIDE / 2, len(array) - 1)) * sd / math.sqrt(len(array))
    low, high = mean - half, mean + half
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # it has no answer for some samples
        found = stats.bootstrap(
            (array,), np.mean, confidence_level=1 - OUTSIDE, n_resamples=_RESAMPLES, method="BCa",
            rng=np.random.default_rng(_SEED),
        ).confidence_interval  # fmt: skip
    ends = [float(end) for end in (found.low, found.high) if math.isfinite(end)]
    return min([low, *ends]), max([high, *ends])


def _sd_interval(runs: int, sd: float) -> Interval:
    ends = stats.chi2.isf([LEVEL / 2, 1 - LEVEL / 2], runs - 1)
    low, high = (sd * math.sqrt((runs - 1) / float(end)) for end in ends)
    return low, high


@dataclass(frozen=True)
class Recommended:
    """A band: how far two runs may be apart. `rate` is the share of honest runs that leave it all the same, on average
    over spreads of this many runs; `rates` is what it may be given how well so few runs know the standard deviation;
    `seen` counts the pairs of runs at hand that are further apart, of `pairs`."""

    width: float
    rate: float
    rates: Interval
    runs: int
    seen: int
    pairs: int
    doubtful: bool  # the values do not look normally distributed, which the rates assume


def recommended(values: Sequence[float], one_in: int = 100) -> Recommended | None:
    """The band that one honest run in so many leaves. None where nothing moves, or there is too little to go by.

    A contract compares two runs, one of which made the baseline. The difference of two is normal with twice the
    variance, and s of n runs stands for its standard deviation: then it is Student's with n - 1 degrees of freedom."""
    runs = len(values)
    if runs < 3 or min(values) == max(values):
        return None
    array = np.asarray(values, np.float64)
    sd = float(array.std(ddof=1))
    apart = sd * math.sqrt(2)
    width = _rounded_up(apart * float(stats.t.isf(1 / one_in / 2, runs - 1)))
    rate = 2 * float(stats.t.sf(width / apart, runs - 1))
    low, high = (2 * float(stats.norm.sf(width / end / math.sqrt(2))) for end in _sd_interval(runs, sd))
    gaps = np.abs(array[:, None] - array[None, :])[np.triu_indices(runs, 1)]
    return Recommended(
        width, rate, (low, high), runs, int((gaps > width).sum()), len(gaps), _is_doubtful(values)
    )


def _is_doubtful(values: Sequence[float]) -> bool:
    """Few values can only look very different from normal ones."""
    return len(values) >= 8 and float(stats.shapiro(values).pvalue) < 0.01


def _rounded_up(width: float) -> float:
    """Round up to two digits, so that a contract is readable: a wider band only gives fewer alarms."""
    unit = 10.0 ** (math.floor(math.log10(width)) - 1)
    if unit == 0:
        return width
    digits = math.ceil(width / unit - 1e-9)
    return float(f"{digits * unit:.2g}")


@dataclass(frozen=True)
class Strongest:
    """The source that moves a metric most. `p`: how often two that move it alike would look this different from the
    next one; None where there is no other that moves it."""

    source: str
    next: str | None = None
    p: float | None = None

    @property
    def clear(self) -> bool:
        return self.p is None or self.p < LEVEL


def strongest(groups: Mapping[str, Sequence[float]]) -> Strongest | None:
    """The source with the largest standard deviation, and whether Levene's test (around medians) distinguishes it from the next."""
    moving = {name: values for name, values in groups.items() if len(values) > 1 and len(set(values)) > 1}
    if not moving:
        return None
    first, *rest = sorted(moving, key=lambda name: -float(np.std(moving[name], ddof=1)))
    if not rest:
        return Strongest(first)
    p = float(stats.levene(moving[first], moving[rest[0]], center="median").pvalue)
    return Strongest(first, rest[0], p if math.isfinite(p) else 1.0)


@dataclass(frozen=True)
class Comparison:
    """Two variants in one metric. `difference` is B's mean less A's, `interval` where it lies with 95% confidence, `p` the
    permutation test's, `effect` Hedges' g: the difference in standard deviations. `more` seeds of each would show the
    difference in four of five attempts, if it is as large as it looks; None where no reasonable number would. `paired`:
    run by run, each with the one of the same seed."""

    a: Summary
    b: Summary
    difference: float
    interval: Interval | None
    p: float
    effect: float | None
    more: int | None = None
    paired: bool = False

    @property
    def least_p(self) -> float:
        """With so many runs: what the test gives for a difference beyond all measure."""
        ways = 2**self.a.runs if self.paired else math.comb(self.a.runs + self.b.runs, self.a.runs)
        return min(1.0, 2 / ways)


def compare(a: Sequence[float], b: Sequence[float], tests: int = 1, *, paired: bool = False) -> Comparison:
    """`tests` is how many metrics are compared: what settles one of them must settle it among so many. `paired`: the runs
    of the same place belong together."""
    one, other = summarise(a), summarise(b)
    difference = other.mean - one.mean
    if min(one.runs, other.runs) < 2:
        return Comparison(one, other, difference, None, 1.0, None, paired=paired)
    pooled = _pooled(one, other)
    effect = None if pooled == 0 else difference / pooled * _small_sample(one.runs + other.runs - 2)
    seen = _of_pairs(a, b) if paired else _beyond(difference) if effect is None else effect
    more = _more(seen, min(one.runs, other.runs), tests, paired=paired)
    interval = _pairs_interval(a, b, difference) if paired else _gap_interval(a, b, difference)
    p = _permuted(a, b, tests, paired=paired)
    return Comparison(one, other, difference, interval, p, effect, more, paired)


def _of_pairs(a: Sequence[float], b: Sequence[float]) -> float:
    """The mean difference in standard deviations of the differences."""
    gaps = np.asarray(b, np.float64) - np.asarray(a, np.float64)
    sd, mean = float(gaps.std(ddof=1)), float(gaps.mean())
    return _beyond(mean) if sd == 0 else mean / sd * _small_sample(len(gaps) - 1)


def _beyond(difference: float) -> float:
    """The effect where nothing spreads."""
    return math.copysign(math.inf, difference) if difference else 0.0


def _pairs_interval(a: Sequence[float], b: Sequence[float], difference: float) -> Interval:
    """Student's, of the differences."""
    gaps = np.asarray(b, np.float64) - np.asarray(a, np.float64)
    half = float(stats.t.isf(LEVEL / 2, len(gaps) - 1) * gaps.std(ddof=1)) / math.sqrt(len(gaps))
    return difference - half, difference + half


def _pooled(a: Summary, b: Summary) -> float:
    assert a.sd is not None and b.sd is not None
    squares = (a.runs - 1) * a.sd**2 + (b.runs - 1) * b.sd**2
    return math.sqrt(squares / (a.runs + b.runs - 2))


def _small_sample(freedom: int) -> float:
    """Hedges' correction: from few values the effect looks larger than it is. With a single degree of freedom nothing would be
    left of any effect: it is corrected as with two."""
    return 1 - 3 / (4 * max(freedom, 2) - 1)


def _gap_interval(a: Sequence[float], b: Sequence[float], difference: float) -> Interval:
    """Welch's."""
    if min(a) == max(a) and min(b) == max(b):
        return difference, difference
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where values hardly differ
        found = stats.ttest_ind(b, a, equal_var=False).confidence_interval(1 - LEVEL)
    return float(found.low), float(found.high)


def _permuted(a: Sequence[float], b: Sequence[float], tests: int = 1, *, paired: bool = False) -> float:
    """Every way to deal the runs to the variants (of pairs: those of each seed) where there are few, else so many at random:
    with fewer, not even the smallest p could be called a difference among so many tests."""
    resamples = max(_RESAMPLES, math.ceil(4 * tests / LEVEL))

    def gap(x: np.ndarray, y: np.ndarray, axis: int = -1) -> Any:
        return np.mean(y, axis=axis) - np.mean(x, axis=axis)

    found = stats.permutation_test(
        (np.asarray(a, np.float64), np.asarray(b, np.float64)), gap, n_resamples=resamples, vectorized=True,
        permutation_type="samples" if paired else "independent", rng=np.random.default_rng(_SEED),
    )  # fmt: skip
    return min(1.0, float(found.pvalue))


def least_runs(tests: int = 1, *, paired: bool = False) -> int:
    """The fewest runs of each variant with which a difference could be called one."""

    def ways(runs: int) -> int:
        return 2**runs if paired else math.comb(2 * runs, runs)

    return next(runs for runs in range(2, 100) if 2 / ways(runs) <= LEVEL / tests)


def _more(effect: float, runs: int, tests: int, *, paired: bool) -> int | None:
    if effect == 0:
        return None
    needed = runs_to_see(abs(effect), LEVEL / tests, paired=paired)
    return None if needed is None else max(1, max(needed, least_runs(tests, paired=paired)) - runs)


def runs_to_see(effect: float, level: float = LEVEL, *, paired: bool = False) -> int | None:
    """How many runs of each variant show an effect of this size in four of five attempts, by the power of Student's test.
    Of pairs, the effect is in standard deviations of their differences."""

    def seen(runs: int) -> bool:
        freedom = (runs - 1) * (1 if paired else 2)
        apart = effect * math.sqrt(runs if paired else runs / 2)
        least = float(stats.t.isf(level / 2, freedom))
        power = float(stats.nct.sf(least, freedom, apart))
        return (
            power >= POWER if math.isfinite(power) else apart > least
        )  # which it is not where `apart` is huge

    low, high = 1, MOST_SEEDS
    if not seen(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's correction: comparing many metrics does not make it likelier to find a difference where there is none."""
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted[place] = highest
    return adjusted
