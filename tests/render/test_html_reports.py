"""The report in a browser: complete, self-contained, and safe whatever a program calls its tensors."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from samples import COUNTED, DRIFTING, NASTY, REPEATING, UNJUDGED, drift, full, largest, results

from twinrun.comparison.timeline import Grid, Row, Timeline
from twinrun.quote import quoted
from twinrun.render import rendered
from twinrun.render.html import as_html
from twinrun.result import CheckResult, Growth

VOID = {"meta", "link", "br", "img", "hr", "input"}
CODE = re.compile("<script>(.*?)</script>", re.DOTALL)


class Page(HTMLParser):
    """Text, tags and attributes of a page; complains about tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._data: list[str] = []  # what stands in elements that show nothing
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        hidden = bool(self._open) and self._open[-1] in ("script", "style")
        (self._data if hidden else self.words).append(data)

    @property
    def ids(self) -> set[str | None]:
        return {value for name, value in self.attributes if name == "id"}

    @property
    def numbers(self) -> Any:
        """What the script draws."""
        return next(json.loads(data) for data in self._data if data.startswith("{"))

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def strip(result: CheckResult) -> dict[str, str]:
    """The phases of the step that differs first, and how each of them is shown."""
    found = re.findall(r'<li class="(\w+)" title="[^"]*">(\w+)', as_html(result))
    return {phase: shown for shown, phase in found}


def test_only_phases_that_were_compared_are_shown_as_equal() -> None:
    shown = {
        "init": "unseen",
        "batch": "equal",
        "probe": "unseen",
        "forward": "unseen",
        "loss": "equal",
        "gradient": "unseen",
    }
    assert strip(DRIFTING) == {**shown, "weights": "here", "metric": "unseen", "final": "unseen"}  # fmt: skip
    assert "gradient : not observed" in Page(as_html(DRIFTING)).text
    # A phase that is observed in some steps only, and one that differs within the contract.
    steps = Grid(
        1,
        1,
        (
            Row("init", "=.."),
            Row("probe", "..="),
            Row("loss", ".=~"),
            Row("weights", ".=x"),
            Row("final", "..="),
        ),
    )
    some = DRIFTING.replace(contract="rtol=1e-3", timeline=Timeline(("A", "B"), phases=steps))  # fmt: skip
    shown |= {"init": "equal", "batch": "unseen", "probe": "equal", "loss": "within"}
    assert strip(some) == {**shown, "weights": "here", "metric": "unseen", "final": "later"}
    earlier = Grid(1, 1, (*steps.rows[:3], Row("weights", ".x.")))
    assert strip(some.replace(timeline=Timeline(phases=earlier)))["probe"] == "unseen"
    # What a recording does not say is not guessed.
    assert set(strip(DRIFTING.replace(timeline=None)).values()) == {"here", "later"}


def test_everything_of_a_result_is_on_the_page() -> None:
    page = Page(as_html(full("a_name_of_the_program")))
    for said in ("diverges", "At step 7", "8 of 32 elements differ", "3 ULP at most", "1.5e-07", "[0, 1]", "TW105", "confirmed",
                 "TW201", "likely", "+ seed(42)", "What was tried", "Notes", "Controls", "Environment", "2.5 s"):  # fmt: skip
        assert said in page.text, said
    assert page.text.count("a_name_of_the_program") > 20
    assert {"findings", "where", "steps", "growth", "curves", "layers", "environment"} <= page.ids


@pytest.mark.parametrize("result", [REPEATING, UNJUDGED])
def test_a_result_with_little_in_it_makes_a_short_page(result: CheckResult) -> None:
    page = Page(as_html(result))
    assert result.verdict in page.text and "svg" not in page.tags and "table" not in page.tags


def test_what_another_number_of_workers_keeps_is_on_the_page() -> None:
    page = Page(as_html(COUNTED))
    assert (
        "with 1, 2 and 4 workers, one run of each, 4 steps: initial weights, global batches and weights"
        in page.text
    )
    for said in (
        "4 workers, beside 1 worker",
        "global batches (as sets of elements): equal bit for bit",
        "1 worker: 8; 4 workers: 32",
    ):
        assert said in page.text, said


def test_no_name_becomes_markup_or_a_control_character() -> None:
    text = as_html(full(NASTY))
    page = Page(text)
    assert page.tags.count("script") == 2 and len(CODE.findall(text)) == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert page.numbers["layers"]["rows"][0]["name"].startswith("</title></style><script>alert(1)")


def test_the_page_loads_nothing_and_runs_nothing_but_its_own_script() -> None:
    text = as_html(full())
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "form"} & set(page.tags)
    assert not {"src", "srcset", "action", "style"} & {name for name, _ in page.attributes}
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    namespace = 'page.createElementNS("http://www.w3.org/2000/svg", name)'
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", text.replace(namespace, ""))
    assert "url(" not in text and "@import" not in text
    (script,), (style,) = CODE.findall(text), re.findall("<style>(.*?)</style>", text, re.DOTALL)
    (policy,) = (value for name, value in page.attributes if value and value.startswith("default-src"))
    assert policy == (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_every_plot_has_a_table_and_every_link_a_place() -> None:
    page = Page(as_html(DRIFTING))
    assert page.text.count("as a table") == 4  # steps, distances, curves and layers
    links = {value for name, value in page.attributes if name == "href" and value}
    assert {f"#{each}" for each in page.ids} >= links > {"#finding-1", "#finding-2", "#steps", "#growth"}
    for said in (
        "8–31 different loss, weights",
        "net/dense/kernel",
        "1.5e-07",
        "python.hash_seed",
        "3 more tensors differ; how far was not measured",
    ):
        assert said in page.text, said


def test_what_was_not_observed_is_said() -> None:
    after = "After the difference at step 7 the twins were followed for 24 more steps; nothing after that was compared."
    assert after in Page(as_html(DRIFTING)).text
    assert DRIFTING.timeline is not None
    held = DRIFTING.replace(timeline=drift("net/dense", last=7))
    assert "Nothing after step 7 was compared." in Page(as_html(held)).text


def test_a_report_of_the_longest_run_of_the_largest_model_is_small() -> None:
    assert len(as_html(DRIFTING)) < 150_000
    assert len(as_html(largest())) < 1_000_000


def test_numbers_that_json_does_not_have_are_left_out() -> None:
    growth = (Growth(1, max_abs=math.nan), Growth(2, max_abs=math.inf), Growth(3, max_abs=1.0))
    page = Page(as_html(CheckResult("train.py", "diverges", growth=growth)))
    assert page.numbers["lines"][0]["abs"] == [None, None, 1.0]


@given(results)
@settings(max_examples=50)
def test_every_result_makes_a_well_formed_page(result: CheckResult) -> None:
    assert result.verdict in Page(as_html(result)).text


def test_a_finding_shows_its_source_with_credentials_masked(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text('password = "correct-horse-battery"\nmodel = build()  # here\n')
    result = full(file=str(source))
    text = Page(as_html(result.replace(findings=quoted(result.findings)))).text
    assert "model = build() # here" in text and "correct-horse" not in text


@pytest.mark.parametrize("output_format", ["html", "text", "junit", "sarif", "github"])
def test_a_saved_result_shows_the_source_that_it_holds_and_opens_no_file(
    tmp_path: Path, output_format: str
) -> None:
    source = tmp_path / "train.py"
    source.write_text("one\nthe line that was blamed\n")
    result = full(file=str(source))
    made_here = result.replace(findings=quoted(result.findings))
    source.write_text("one\nsecret-that-came-later\n")
    for each, held in ((result, False), (made_here, True)):
        document = json.loads(json.dumps(each.as_json()))
        text = rendered([("", CheckResult.from_json(document))], output_format)
        assert "secret-that-came-later" not in text
        if output_format in ("html", "text"):
            assert ("the line that was blamed" in text) == held


def test_the_growth_of_a_result_without_a_timeline_is_drawn() -> None:
    growth = tuple(Growth(step, max_abs=1.0 if step == 777 else 1e-6) for step in range(1, 1001))
    page = Page(as_html(CheckResult("train.py", "diverges", growth=growth)))
    (line,) = page.numbers["lines"]
    assert line["name"] == "furthest of all tensors" and line["steps"] == list(range(1, 1001))
    assert line["abs"].index(1.0) == 776 and "growth" in page.ids and "steps" not in page.ids
