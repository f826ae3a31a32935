"""The report in a browser: complete, self-contained, and safe whatever a program calls its tensors."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from samples import NASTY, REPEATING, UNJUDGED, full, results

from twinrun.quote import quoted
from twinrun.render import rendered
from twinrun.render.html import as_html
from twinrun.result import CheckResult, Growth

VOID = {"meta", "link", "br", "img", "hr", "input", "line", "polyline", "circle"}


class Page(HTMLParser):
    """Text, tags and attributes of a page; complains about tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
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
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_everything_of_a_result_is_on_the_page() -> None:
    page = Page(as_html(full("a_name_of_the_program")))
    for said in ("diverges", "At step 7", "8 of 32 elements differ", "3 ULP at most", "1.5e-07", "[0, 1]", "TW105", "confirmed",
                 "TW201", "likely", "+ seed(42)", "What was tried", "Notes", "Controls", "Environment", "2.5 s"):  # fmt: skip
        assert said in page.text, said
    assert page.text.count("a_name_of_the_program") > 20
    assert "svg" in page.tags and "polyline" in page.tags


@pytest.mark.parametrize("result", [REPEATING, UNJUDGED])
def test_a_result_with_little_in_it_makes_a_short_page(result: CheckResult) -> None:
    page = Page(as_html(result))
    assert result.verdict in page.text and "svg" not in page.tags and "table" not in page.tags


def test_no_name_becomes_markup_or_a_control_character() -> None:
    text = as_html(full(NASTY))
    page = Page(text)
    assert "script" not in page.tags
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert not any(name.startswith("on") for name, _ in page.attributes)


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    text = as_html(full())
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in page.attributes}
    assert (
        "http" not in re.sub(r'http-equiv="[^"]*"', "", text) and "url(" not in text and "@import" not in text
    )
    assert "default-src 'none'" in text


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


def test_the_chart_keeps_the_peak_of_a_long_growth() -> None:
    growth = tuple(Growth(step, max_abs=1.0 if step == 777 else 1e-6) for step in range(1, 1001))
    text = as_html(CheckResult("train.py", "diverges", growth=growth))
    points = re.search('class="line a" points="([^"]*)"', text)
    assert points is not None
    heights = [float(pair.split(",")[1]) for pair in points[1].split()]
    assert len(heights) <= 400 and min(heights) < min(sorted(heights)[1:])
