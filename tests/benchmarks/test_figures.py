"""The tables that `make bench` writes into the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    from figures import BEGIN, END

    page = tmp_path / "benchmarks.md"
    page.write_text(f"# Costs\n\n{BEGIN.format('recording')}\nold\n{END}\n\nText below.\n", encoding="utf-8")
    return page


def test_a_table_stands_between_its_markers_and_nothing_else_changes(tmp_path: Path, page: Path) -> None:
    from figures import Figures, Row

    figures = Figures(tmp_path / "figures.json")
    figures.add("recording", [Row("MLP", {"goal": "1.10", "recorded": "1.08"})], "today, here")
    assert figures.write_page(page) == []
    text = page.read_text(encoding="utf-8")
    assert "| MLP | 1.10 | 1.08 |" in text and "today, here" in text
    assert "old" not in text and text.startswith("# Costs\n") and text.endswith("\nText below.\n")
    figures.write_page(page)
    assert page.read_text(encoding="utf-8") == text


def test_what_was_not_measured_now_stays_with_its_date_and_machine(tmp_path: Path, page: Path) -> None:
    from figures import Figures, Row

    file = tmp_path / "figures.json"
    figures = Figures(file)
    on_gpu = Row("decoder, GPU", {"goal": "1.05", "recorded": "1.04"})
    figures.add("recording", [Row("MLP", {"recorded": "1.30"}), on_gpu], "1 May, a GPU machine")
    figures.save()
    later = Figures(file)
    later.add("recording", [Row("MLP", {"recorded": "1.09"})], "2 May, another")
    text = later.markdown("recording")
    assert "| MLP | 1.09 |" in text and "| decoder, GPU | 1.04 | 1.05 |" in text and "1.30" not in text
    assert "1. 2 May, another\n2. 1 May, a GPU machine" in text


def test_a_table_without_a_place_in_the_page_is_named(tmp_path: Path, page: Path) -> None:
    from figures import Figures, Row

    figures = Figures(tmp_path / "figures.json")
    figures.add("elsewhere", [Row("x", {"y": "1"})], "now")
    assert figures.write_page(page) == ["elsewhere"]


def test_the_page_has_a_place_for_every_table_that_is_kept_and_shows_what_is_kept() -> None:
    from figures import BEGIN, PAGE, Figures

    text = PAGE.read_text(encoding="utf-8")
    assert all(BEGIN.format(name) in text for name in ("recording", "check", "diagnosis"))
    figures = Figures()
    assert all(figures.markdown(name) in text for name in figures.tables), (
        "run benchmarks/run.py, or write_page"
    )


def test_a_spread_is_the_median_and_the_middle_half() -> None:
    from measure import spread

    assert spread([1.0, 1.1, 1.2, 1.3, 9.0]) == "1.20 (1.10–1.30)"
    assert spread([2.0]) == "2.00"


def test_the_load_of_others_is_a_share_and_said_in_words() -> None:
    from measure import load_in_words, taken_by_others

    assert 0 <= taken_by_others(0.05) <= 1
    assert load_in_words(0.02).startswith("quiet") and "upper bound" in load_in_words(0.5)


def test_a_command_that_fails_shows_its_last_lines() -> None:
    from measure import run

    program = "print('first'); print('x\\n' * 100); print('no room'); raise SystemExit(3)"
    with pytest.raises(SystemExit, match=r"(?s)exit code 3; .*no room") as failed:
        run([sys.executable, "-c", program])
    assert "first\n" not in str(failed.value).split("output:")[1]


def test_paths_are_good_in_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from measure import environment

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "src:/opt/lib")
    assert environment()["PYTHONPATH"] == f"{tmp_path / 'src'}:/opt/lib"
