"""The site of `make docs` takes its order from the index, so every page must be there. Pages that are generated are current."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.name != "index.md"]
    assert sorted(listed) == sorted(pages)


def test_the_page_of_the_python_api_is_current() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "write_api.py"))["page"]
    assert (DOCS / "reference" / "python-api.md").read_text(encoding="utf-8") == page()
