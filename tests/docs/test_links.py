"""Links between the pages lead somewhere, to the heading too. `make docs` finds this out as well, with mkdocs."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from command_lines import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src" / "twinrun" / "findings" / "pages").glob("*.md")),
]
_CODE = re.compile(r"^(```|~~~).*?^\1\s*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


def test_every_link_of_a_page_leads_somewhere() -> None:
    lost = [
        f"{page.relative_to(ROOT)}: {link}" for page in PAGES for link in links(page) if not leads(page, link)
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("The page", "the-page"),
        ("What is `tried`, and what not?", "what-is-tried-and-what-not"),
        ("From [one](a.md) to two", "from-one-to-two"),
        ("A  – B", "a-b"),
    ],
)
def test_headings_have_the_anchors_that_the_site_gives_them(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


def test_images_are_shown_on_a_page() -> None:
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    assert {image for image in (ROOT / "docs" / "images").iterdir() if image.resolve() not in shown} == set()


def links(page: Path) -> list[str]:
    """But for those to other places than these files."""
    found = _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in found if not re.match(r"\w+:", link)]


def leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@cache
def anchors(page: Path) -> set[str]:
    """As Python-Markdown makes them: a second one of a name has a number."""
    found: set[str] = set()
    text = re.sub(
        r"^(```|~~~).*?^\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for heading in _HEADING.findall(text):
        name, number = slug(heading), 0
        while (each := f"{name}_{number}" if number else name) in found:
            number += 1
        found.add(each)
    return found


def slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())
