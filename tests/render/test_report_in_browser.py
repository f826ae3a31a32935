"""The report as its readers have it: drawn by a real browser, at every width, in light and dark, with mouse, keyboard and
screen reader, on paper, and without scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from samples import DRIFTING, NASTY, REPEATING, UNJUDGED, drift, full, largest

from browser import THEMES, WIDTHS, chromium, to_be_skipped
from twinrun.render.html import as_html
from twinrun.result import CheckResult, Growth

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Open = Callable[..., Page]

pytestmark = pytest.mark.skipif(to_be_skipped() is not None, reason=str(to_be_skipped()))
DRAWN_FOR = "document.querySelector('#steps-plot svg').viewBox.baseVal.width"
PLOTS = ("steps-plot", "growth-plot", "curves-plot", "layers-plot", "elements")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the report of a result. Nothing may be asked of the network, and no page may complain."""
    file = tmp_path / "report.html"
    complaints: list[str] = []

    def open_report(result: CheckResult, link: str = "", **settings: Any) -> Page:
        file.write_text(as_html(result), encoding="utf-8")
        context = browser.new_context(viewport={"width": 900, "height": 800}, **settings)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        page.goto(f"{file.as_uri()}{link}")
        return page

    yield open_report
    for context in browser.contexts:
        context.close()
    assert complaints == []


def until(true: Callable[[], bool]) -> None:
    """Waits. (Playwright's own waiting evaluates text, which the page's policy forbids.)"""
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def words(page: Page, plot: str) -> str:
    """What is told of the chosen step below a plot."""
    return page.locator(f"#{plot}-readout").inner_text()


def drawn(page: Page) -> dict[str, int]:
    """How many lines and areas each plot has."""
    found: dict[str, int] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.plot')].map(p => [p.id, p.querySelectorAll('svg path[d]:not([d=\"\"])').length]))"
    )
    return found


def test_every_plot_is_drawn_at_every_width_in_both_themes(opened: Open) -> None:
    page = opened(DRIFTING)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            until(lambda width=width: min(width, 1000) - 60 < page.evaluate(DRAWN_FOR) <= width)
            assert all(drawn(page)[plot] >= 2 for plot in PLOTS)
            wider = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wider == 0, (width, theme)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 20, 23)"}[theme]


@pytest.mark.parametrize(
    "result", [REPEATING, UNJUDGED, full(), full(NASTY)], ids=["short", "undecided", "full", "nasty"]
)
def test_no_result_makes_a_page_that_complains_or_is_too_wide(opened: Open, result: CheckResult) -> None:
    page = opened(result)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert (
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        )
    assert page.locator("script").count() == 2 and page.title().startswith(result.verdict)


def test_the_largest_report_is_drawn(opened: Open) -> None:
    page = opened(largest())
    assert all(drawn(page)[plot] for plot in PLOTS)
    page.locator("#layers-plot").click(position={"x": 700, "y": 500})
    assert "block_" in words(page, "layers-plot")


def test_a_step_that_is_clicked_is_chosen_in_every_plot_and_in_the_address(opened: Open) -> None:
    page = opened(DRIFTING)
    assert words(page, "steps-plot") == "Step 7: weights different; batch, loss equal"  # the first difference
    plot = page.locator("#steps-plot")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] - 5, "y": 20})
    assert page.evaluate("location.hash") == "#step-31"
    assert words(page, "steps-plot") == "Step 31: loss, weights different; batch equal"
    assert words(page, "growth-plot").startswith("Step 31: net/dense/kernel 0.001683; net/dense_1/kernel ")
    assert words(page, "curves-plot").startswith("Step 31, loss: A 0.0645161")
    assert words(page, "layers-plot") == "Step 31, net/dense (2 tensors): different"


def test_a_step_is_chosen_where_the_address_must_stay(opened: Open) -> None:
    """As in a viewer that shows the page in a sandbox."""
    page = opened(DRIFTING)
    page.evaluate("() => { history.replaceState = () => { throw new DOMException('sandboxed') } }")
    page.locator("#steps-plot").press("End")
    assert words(page, "steps-plot").startswith("Step 31: ") and not page.url.endswith("#step-31")
    assert words(page, "layers-plot").startswith("Step 31, ")


def test_tensors_units_and_curves_are_chosen_by_click(opened: Open) -> None:
    page = opened(DRIFTING)
    lines = page.locator("#growth-plot .line")
    assert lines.count() == 4
    page.locator("#tensor-6").click()
    assert lines.count() == 5 and page.locator("#tensor-6").get_attribute("aria-pressed") == "true"
    page.locator("#tensor-1").click()
    assert lines.count() == 4 and page.locator("#tensor-1").get_attribute("aria-pressed") == "false"
    assert "net/head/kernel" in words(page, "growth-plot") and "net/dense/kernel" not in words(
        page, "growth-plot"
    )
    before = page.locator("#growth-plot .tick").all_inner_texts()
    page.get_by_label("ULP").check()
    assert page.locator("#growth-plot .tick").all_inner_texts() != before and "4 ULP" in words(
        page, "growth-plot"
    )
    page.locator("#growth-table summary").click()
    assert page.locator("#growth-table tbody tr").count() == 4 * 25
    page.get_by_label("accuracy").check()
    assert words(page, "curves-plot") == "Step 31, accuracy: A 0.5, B no number"
    page.locator("#elements").hover(position={"x": 60, "y": 40})
    assert words(page, "elements").endswith(": equal")


def test_every_plot_can_be_used_with_the_keyboard(opened: Open) -> None:
    page = opened(DRIFTING)
    for plot in ("steps-plot", "growth-plot", "curves-plot", "layers-plot"):
        page.locator(f"#{plot}").focus()
        page.keyboard.press("Home")
        start = words(page, plot)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        assert words(page, plot) != start
        page.keyboard.press("End")
        assert "31" in words(page, plot) and page.evaluate("location.hash") == "#step-31"
    page.keyboard.press("ArrowDown")
    assert words(page, "layers-plot") == "Step 31, net/dense_1 (2 tensors): different"
    page.locator("#tensor-1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#tensor-2").get_attribute("aria-pressed") == "false"
    page.locator("#elements").focus()
    page.keyboard.press("ArrowLeft")
    assert words(page, "elements") == "Down 0, across 7: equal"


def test_letters_lead_through_the_page_unless_they_are_switched_off(opened: Open) -> None:
    page = opened(DRIFTING)
    here = "document.activeElement.id"
    page.keyboard.press("n")
    assert page.evaluate(here) == "findings-title"
    page.keyboard.press("n")
    assert page.evaluate(here) == "where-title"
    page.keyboard.press("p")
    assert page.evaluate(here) == "findings-title"
    page.keyboard.press("d")
    until(lambda: page.evaluate(here) == "steps-plot")
    assert page.evaluate("location.hash") == "#step-7"
    page.get_by_label("keys without a modifier").uncheck()
    page.keyboard.press("n")
    assert page.evaluate(here) == "letters"


def test_the_first_tab_leads_past_the_head(opened: Open) -> None:
    page = opened(DRIFTING)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(
    ("link", "seen"),
    [
        ("#step-12", "#steps-plot"),
        ("#finding-2", "#finding-2"),
        ("#tensor-6", "#tensor-6"),
        ("#step-999999", "#steps-plot"),
    ],
)
def test_a_link_leads_to_its_place(opened: Open, link: str, seen: str) -> None:
    page = opened(DRIFTING, link)
    box = page.locator(seen).bounding_box()
    assert box is not None and 0 <= box["y"] < 800
    step = {"#step-12": 12, "#step-999999": 31}.get(link, 7)
    assert words(page, "steps-plot").startswith(f"Step {step}:")
    assert page.locator("#tensor-6").get_attribute("aria-pressed") == str(link == "#tensor-6").lower()


def test_a_screen_reader_is_told_what_the_plots_show(opened: Open) -> None:
    page = opened(DRIFTING)
    plot = page.get_by_role("slider", name="Step", exact=True)
    assert plot.get_attribute("aria-valuetext") == "Step 7: weights different; batch, loss equal"
    assert [plot.get_attribute(f"aria-value{each}") for each in ("min", "now", "max")] == ["1", "7", "31"]
    for name in ("Distance at step", "Loss and metrics at step", "Layer and step"):
        assert page.get_by_role("slider", name=name).get_attribute("aria-valuetext")
    for heading in page.get_by_role("region").all():
        assert heading.get_attribute("aria-labelledby") or heading.get_attribute("aria-label")
    page.evaluate("document.querySelectorAll('details').forEach(each => (each.open = true))")
    assert page.get_by_role("table").count() == page.locator("table").count() >= 8
    assert page.locator("table:not(:has(thead th))").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    referred = page.evaluate(
        "[...document.querySelectorAll('[aria-labelledby]')].map(e => e.getAttribute('aria-labelledby'))"
    )
    assert set(referred) <= set(ids)


def test_on_paper_everything_is_open_and_nothing_is_for_clicking(opened: Open) -> None:
    page = opened(DRIFTING, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#growth-unit").is_visible()
    assert page.locator("#steps table").is_visible() and all(drawn(page)[plot] for plot in PLOTS)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_without_scripts_the_tables_have_the_numbers(opened: Open) -> None:
    page = opened(DRIFTING, java_script_enabled=False)
    assert page.locator("#steps-plot").inner_text().startswith("Drawn by a script, which did not run here.")
    assert page.locator("#growth-picker tbody tr").count() == 7
    page.locator("#steps summary").click()
    assert "8–31" in page.locator("#steps table").inner_text()


def test_numbers_that_are_too_large_are_drawn(opened: Open) -> None:
    growth = (Growth(1, 10**38, 5e-324), Growth(10**38, 1, 1e308))
    page = opened(CheckResult("train.py", "diverges", growth=growth))
    assert drawn(page)["growth-plot"]
    page.locator("#growth-plot").press("End")
    assert "1e+308" in words(page, "growth-plot")
    assert drawn(opened(CheckResult("train.py", "diverges", growth=growth[1:])))["growth-plot"]


def test_one_step_one_layer_and_one_tensor_are_enough(opened: Open) -> None:
    page = opened(DRIFTING.replace(timeline=drift("w", parted=1, last=1)))
    assert words(page, "growth-plot") == "Step 1: w/kernel 1e-07, 1 ULP"
    page.locator("#growth-plot").press("ArrowRight")
    assert page.evaluate("location.hash") == "#step-1"
