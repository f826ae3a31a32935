"""From runs to a report: figures, texts, the page, and a saved report read back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec.structs import replace as replace_struct

from twinrun.comparison.contract import parse_contract
from twinrun.errors import BadResult, NotComparable
from twinrun.launch.program import Program
from twinrun.render.spread_html import as_html
from twinrun.render.spread_text import comparison_lines, spread_lines
from twinrun.spread import statistics
from twinrun.spread.comparing import ComparisonReport, comparison
from twinrun.spread.measure import _report, typical_run
from twinrun.spread.plan import ALL, IMPLEMENTATION, REPEAT, RunKey
from twinrun.spread.report import Failed, Run, SpreadReport
from twinrun.spread.runs import Collected

HOSTILE = "<script>alert(1)</script>\x1b[2J\n'\"&"


def runs(source: str, **metrics: Any) -> list[Run]:
    """One run for each value."""
    count = len(next(iter(metrics.values())))
    return [
        Run(source, number, 42 + number, {name: float(values[number]) for name, values in metrics.items()})
        for number in range(count)
    ]


def normal(sd: float, count: int = 10, *, seed: int = 0, mean: float = 0.9) -> list[float]:
    return list(np.random.default_rng(seed).normal(mean, sd, count))


def report(*groups: list[Run], **fields: Any) -> SpreadReport:
    return SpreadReport("train.py", runs=tuple(run for group in groups for run in group), pin="42", **fields)


FULL = report(
    runs(ALL, accuracy=normal(0.004), loss=normal(0.1, seed=1)),
    runs("weights", accuracy=normal(0.004, seed=2), loss=[1.0] * 10),
    runs("data", accuracy=normal(0.0004, seed=3), loss=normal(0.1, seed=4)),
    runs(IMPLEMENTATION, accuracy=normal(0.002, seed=5), loss=[1.0] * 10),
    runs(REPEAT, accuracy=[0.9], loss=[1.0]),
)


def text(lines: Any) -> str:
    return "\n".join(map(str, lines))


def test_every_figure_says_how_many_runs_are_behind_it() -> None:
    shown = text(spread_lines(FULL))
    figures = [line for line in shown.splitlines() if re.search(r"±|%|p =|one honest run in", line)]
    assert figures and all(re.search(r"\b\d+ (runs|pairs)", line) for line in figures), shown


def test_the_recommended_bands_are_a_contract() -> None:
    assert FULL.contract is not None and FULL.contract_rate is not None
    bands = {band.metric: band.width for band in parse_contract(FULL.contract).bands}
    assert bands == {metric.name: metric.band.width for metric in FULL.metrics if metric.band}
    assert 0.01 < FULL.contract_rate <= 0.02  # of two bands
    assert f"--contract {FULL.contract}" in text(spread_lines(FULL))


def test_the_source_that_moves_a_metric_is_named() -> None:
    accuracy, loss = FULL.metrics
    assert accuracy.strongest and accuracy.strongest.source == "weights"
    assert loss.strongest and (loss.strongest.source, loss.strongest.next) == ("data", None)
    assert "of these, data alone moves it" in text(spread_lines(FULL))
    assert re.search(
        r"weights moves it most in these runs, .* \(p = \S+ with 10 and 10 runs\)", text(spread_lines(FULL))
    )


def test_what_is_not_the_seeds_is_a_share_of_the_variance() -> None:
    accuracy = FULL.metrics[0]
    seed, rest = accuracy.summaries[ALL], accuracy.summaries[IMPLEMENTATION]
    assert seed.sd and rest.sd and accuracy.not_the_seeds
    assert math.isclose(accuracy.not_the_seeds, rest.sd**2 / (rest.sd**2 + seed.sd**2))
    assert "not the seed's: " in text(spread_lines(FULL))


def test_a_saved_report_is_read_back_with_the_same_figures() -> None:
    saved = json.loads(json.dumps(FULL.as_json()))
    again = SpreadReport.from_json(saved)
    assert again == FULL
    assert again.as_json() == FULL.as_json()


def test_no_figure_is_taken_from_a_saved_report() -> None:
    saved = json.loads(json.dumps(FULL.as_json()))
    saved |= {"contract": "band=accuracy:9", "metrics": []}
    assert SpreadReport.from_json(saved).contract == FULL.contract


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("program"),
        lambda document: document.update(runs=[]),
        lambda document: document.update(runs=document["runs"][:1] * 2),
        lambda document: document.update(one_in=0),
        lambda document: document["runs"][0]["metrics"].update(accuracy="many"),
        lambda document: document.update(schema="twinrun/spread/9"),
        lambda document: document.update(schema="twinrun/check/1"),
    ],
)
def test_a_damaged_report_is_refused(damage: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads(json.dumps(FULL.as_json()))
    damage(document)
    with pytest.raises(BadResult):
        SpreadReport.from_json(document)


def test_runs_that_end_in_nan_are_counted_and_in_no_figure() -> None:
    found = report(runs(ALL, loss=[*normal(0.1, 5), math.nan, math.inf]))
    (loss,) = found.metrics
    assert loss.summary and (loss.summary.runs, loss.lost) == (5, 2)
    assert "2 more of the runs ended in nan or infinity" in text(spread_lines(found))
    assert SpreadReport.from_json(json.loads(json.dumps(found.as_json()))).metrics[0].lost == 2
    hopeless = report(runs(ALL, loss=[math.nan] * 4))
    assert "no finite value in 4 runs" in text(spread_lines(hopeless)) and hopeless.contract is None


def test_a_metric_whose_name_a_contract_cannot_hold_has_no_band() -> None:
    found = report(runs(ALL, **{"a,b": normal(0.1), "c=d:e": normal(0.1)}))
    assert found.contract is not None
    assert [band.metric for band in parse_contract(found.contract).bands] == ["c=d:e"]


def test_the_baseline_is_made_of_the_most_typical_run() -> None:
    found = report(runs(ALL, loss=[1.0, 9.0, 5.1, 8.0, 2.0]))
    assert found.typical and found.typical.number == 2
    pin, arguments = typical_run(found)
    assert (pin.seed, pin.reseed, arguments) == (44, True, ())
    fixed, _ = typical_run(report(runs(IMPLEMENTATION, loss=[1.0, 2.0, 3.0])))
    assert fixed.seed == 42 and not fixed.wants("op-determinism")


@pytest.mark.parametrize(
    ("arguments", "given"),
    [(("--epochs", "3", "--seed", "…"), ("--epochs", "3", "--seed", "44")), (("seed=…",), ("seed=44",))],
)
def test_the_baselines_run_has_its_own_seed_among_its_arguments(
    arguments: tuple[str, ...], given: tuple[str, ...]
) -> None:
    found = report(runs(ALL, loss=[1.0, 9.0, 5.1, 8.0, 2.0]), arguments=arguments)
    assert typical_run(found)[1] == given


def test_where_nothing_moves_the_report_says_why_that_may_be() -> None:
    assert "gives all of them seeds of its own" in text(spread_lines(report(runs(ALL, loss=[1.0] * 5))))
    fixed = text(spread_lines(report(runs(IMPLEMENTATION, loss=[1.0] * 5))))
    assert "nothing moved in 5 runs: no spread was seen that is not the seed's" in fixed


def test_the_page_is_one_file_without_script_and_with_a_chart_of_every_metric() -> None:
    page = as_html(FULL)
    assert "<script" not in page and "http://" not in page and "https://" not in page and "url(" not in page
    charts = [ElementTree.fromstring(chart) for chart in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    assert len(charts) == len(FULL.metrics)
    dots = [len(chart.findall("circle")) for chart in charts]
    assert dots == [40, 40]


def test_names_full_of_markup_are_shown_and_not_obeyed() -> None:
    group = [Run(HOSTILE, number, 1, {HOSTILE: float(number)}) for number in range(4)]
    found = SpreadReport(
        HOSTILE,
        (HOSTILE,),
        runs=(*runs(ALL, **{HOSTILE: [1.0, 2.0, 3.0, 4.0]}), *group),
        failed=(Failed(HOSTILE, 0, 1, HOSTILE),),
        notes=(HOSTILE,),
        environment=HOSTILE,
    )
    for page in (as_html(found), as_html(comparison((HOSTILE, HOSTILE), found, found))):
        assert "<script" not in page and "\x1b" not in page
        assert "&lt;script&gt;" in page
        for chart in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            ElementTree.fromstring(chart)


def test_credentials_in_names_are_masked() -> None:
    found = report(runs(ALL, loss=[1.0, 2.0]), notes=("password=hunter2hunter2",))
    assert "hunter2" not in json.dumps(found.as_json()) + as_html(found) + text(spread_lines(found))


# Two variants


def variant(mean: float, count: int = 10, seed: int = 0) -> SpreadReport:
    return report(
        runs(ALL, accuracy=normal(0.004, count, seed=seed, mean=mean), loss=normal(0.1, count, seed=seed))
    )


def test_variants_that_are_far_apart_differ_and_only_where_they_do() -> None:
    found = comparison(("a.json", "b.json"), variant(0.9), variant(0.95, seed=9))
    assert [each.name for each in found.differing] == ["accuracy"]
    shown = text(comparison_lines(found))
    assert "accuracy: B is higher, beyond the seed" in shown
    assert "the variants differ beyond the seed in accuracy (of 2 metrics" in shown
    assert found.as_json()["differs"] is True and "<svg" in as_html(found)
    again = ComparisonReport.from_json(json.loads(json.dumps(found.as_json())))
    assert again.as_json() == found.as_json()


def test_the_same_variant_twice_does_not_differ() -> None:
    found = comparison(("a", "b"), variant(0.9), variant(0.9, seed=9))
    assert not found.differing
    assert "more seeds of each would show it" in text(comparison_lines(found))


def test_with_too_few_runs_no_difference_is_denied() -> None:
    found = comparison(("a", "b"), variant(0.9, 3), variant(0.95, 3))
    assert "too few runs to call any difference one: 7 of each" in text(comparison_lines(found))


def test_few_runs_of_one_variant_and_many_of_the_other_can_differ() -> None:
    few = report(runs(ALL, loss=[1.0, 1.1]))
    many = report(runs(ALL, loss=[9.0 + 0.1 * n for n in range(12)]))
    found = comparison(("a", "b"), few, many)
    assert [each.name for each in found.differing] == ["loss"] and not found.too_few
    assert comparison(("a", "b"), few, report(runs(ALL, loss=[9.0, 9.1, 9.2]))).too_few


def test_runs_of_the_same_seeds_are_compared_in_pairs_and_others_are_not() -> None:
    a, b = variant(0.9), variant(0.9, seed=9)
    (accuracy, _) = comparison(("a", "b"), a, b).metrics
    assert accuracy.found.paired and accuracy.as_json()["paired"] is True
    shown = text(comparison_lines(comparison(("a", "b"), a, b)))
    assert "(10 pairs of runs with the same seeds, permutation test)" in shown
    other = report([replace_struct(run, seed=run.seed + 100) for run in b.runs])
    assert not comparison(("a", "b"), a, other).metrics[0].found.paired
    fixed = report([replace_struct(run, source=IMPLEMENTATION, seed=42) for run in b.runs])
    assert not comparison(("a", "b"), fixed, fixed).metrics[0].found.paired


def test_a_run_that_is_missing_does_not_part_the_other_pairs() -> None:
    """One that failed or ended in nan, or seeds that only one of them has; five pairs could never show anything."""
    lost = report(runs(ALL, loss=[*normal(0.1, 9), math.nan], score=normal(0.1)))
    many = report(runs(ALL, loss=normal(0.1, 40), score=normal(0.2, 40)))
    found = comparison(("a", "b"), lost, many)
    assert [(each.name, each.found.a.runs, each.found.paired) for each in found.metrics] == [
        ("loss", 9, True),
        ("score", 10, True),
    ]
    assert found.notes == (
        "loss: compared in the 9 seeds for which both have a value; 1 run of A and 31 runs of B not used",
        "score: compared in the 10 seeds for which both have a value; 0 runs of A and 30 runs of B not used",
    )
    for shared in (5, 6):
        few = report(runs(ALL, loss=normal(0.1, shared)))
        (loss,) = comparison(("a", "b"), few, report(runs(ALL, loss=normal(0.1, 12)))).metrics
        assert (loss.found.paired, loss.found.b.runs) == ((True, 6) if shared == 6 else (False, 12))


def test_other_conditions_of_the_two_variants_are_noted() -> None:
    a = report(runs(ALL, loss=normal(0.1)), environment="one", steps=5)
    b = report(runs(ALL, loss=normal(0.1)), environment="other")
    found = comparison(("a", "b"), a, b)
    assert found.as_json()["notes"] == [
        "A and B differ in their environment too: one, and other",
        "A and B differ in their steps too: 5, and all",
    ]
    assert "note: A and B differ in their environment too" in text(comparison_lines(found))
    assert "A and B differ in their environment too" in as_html(found)
    assert comparison(("a", "b"), a, a).notes == ()


def test_variants_without_a_common_metric_cannot_be_compared() -> None:
    with pytest.raises(NotComparable):
        comparison(("a", "b"), variant(0.9), report(runs(ALL, reward=normal(1.0))))
    seeds, fixed = report(runs(ALL, loss=normal(1.0))), report(runs(IMPLEMENTATION, loss=normal(1.0)))
    with pytest.raises(NotComparable):
        comparison(("a", "b"), seeds, fixed)


@pytest.mark.parametrize("values", [normal(0.002), [0.5] * 5])
def test_what_is_not_the_seeds_points_to_its_share(values: list[float]) -> None:
    shown = text(spread_lines(report(runs(IMPLEMENTATION, loss=values))))
    assert "share of the spread over seeds this is: --sources implementation" in shown
    assert "--sources" not in text(
        spread_lines(report(runs(ALL, loss=values), runs(IMPLEMENTATION, loss=values)))
    )


def test_consistent_pairs_are_told_how_many_more_there_must_be() -> None:
    a, b = ([value + shift for value in (1.0, 2.0, 3.0, 4.0)] for shift in (0.0, 1.0))
    shown = text(comparison_lines(comparison(("A", "B"), report(runs(ALL, x=a)), report(runs(ALL, x=b)))))
    assert "4 pairs of runs" in shown and "about 2 more seeds of each would show it" in shown, shown


@pytest.mark.parametrize("paired", [False, True])
def test_identical_variants_are_called_different_no_more_often_than_the_level(
    paired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From reports to the answer, with two metrics that go together. Of 200 rounds 10 may differ, and by chance 18."""
    monkeypatch.setattr(
        statistics, "_RESAMPLES", 300
    )  # more than the ways to deal the runs: the test is exact
    chance = np.random.default_rng(7)
    count = 7 if paired else 5

    def variant(shared: Any, first_seed: int) -> SpreadReport:
        loss = shared + chance.normal(0.0, 0.1, count)
        made = runs(ALL, loss=loss, accuracy=1 - loss / 2 + chance.normal(0.0, 0.05, count))
        return report([replace_struct(run, seed=first_seed + run.number) for run in made])

    differing = 0
    for _ in range(200):
        seeds = chance.normal(1.0, 0.3, count)
        a = variant(seeds, 42)
        b = variant(seeds if paired else chance.normal(1.0, 0.3, count), 42 if paired else 142)
        found = comparison(("A", "B"), a, b)
        assert len(found.metrics) == 2 and all(each.found.paired == paired for each in found.metrics)
        differing += bool(found.differing)
    assert 0 < differing <= 18


def test_nothing_left_to_run_keeps_what_the_first_runs_showed() -> None:
    """Else a comparison could not say that the environments differ."""
    earlier = report(runs(ALL, loss=normal(0.1)), environment="tf-2.21 on x86", notes=("a note",))
    known = Collected({RunKey(run.source, run.number): run for run in earlier.runs})
    again = _report(SpreadReport("train.py"), earlier, known, 0.1, Program("train.py").secrets)
    assert (again.environment, again.notes) == ("tf-2.21 on x86", ("a note",))
    other = replace(FULL, environment="tf-2.22 on ARM")
    assert "differ in their environment" in " ".join(comparison(("A", "B"), again, other).notes)
