"""The site of `make docs` takes its order from the index, so every page must be there. Pages that are generated are current."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.name != "index.md"]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize(
    ("tool", "written"),
    [("write_api", "python-api.md"), ("write_cli", "cli.md"), ("write_json", "check.schema.json")],
)
def test_a_page_that_is_written_by_a_tool_is_current(tool: str, written: str) -> None:
    page = runpy.run_path(str(ROOT / "tools" / f"{tool}.py"))["page"]
    assert (DOCS / "reference" / written).read_text(encoding="utf-8") == page()
