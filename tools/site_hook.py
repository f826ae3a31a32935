"""For `make docs`. The order of the pages, and their groups, are those of docs/index.md. Texts that lie elsewhere, where the package or a
reader of the source finds them, become pages of the site too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
CODES = "src/twinrun/findings/pages"
_ELSEWHERE = {
    "zoo/README.md": "explanation/zoo-programs.md",
    **{
        f"{CODES}/{page.name}": f"reference/codes/{page.name}"
        for page in sorted((ROOT / CODES).glob("TW*.md"))
    },
}
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK = re.compile(r"\]\((?:\.\./)*(" + "|".join(map(re.escape, _ELSEWHERE)) + r")(?=[)#])")
_HEADING = re.compile(r"^# (.+) \((TW\d+)\)$", re.MULTILINE)
_PAGE = re.compile(r"\[([^\]]+)\]\(([\w/-]+\.md)\)")


def on_config(config: Any) -> Any:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for title, section in _split(index, "## "):
        groups = [{name: _pages(group)} for name, group in _split(section, "### ")]
        nav.append({title: groups or _pages(section)})
    codes = [{_name_of(source): page} for source, page in _ELSEWHERE.items() if "/codes/" in page]
    nav.append({"Codes": codes})
    config["nav"] = nav
    return config


def _split(text: str, heading: str) -> list[tuple[str, str]]:
    """The parts of a text below headings of one level, with their titles."""
    parts = re.split(rf"^{heading}", text, flags=re.MULTILINE)[1:]
    return [(title, rest) for title, _, rest in (part.partition("\n") for part in parts)]


def _pages(text: str) -> list[dict[str, Any]]:
    return [{title: page} for title, page in _PAGE.findall(text)]


def _name_of(source: str) -> str:
    """`TW105 unseeded-keras`, from the heading `# unseeded-keras (TW105)`."""
    heading = _HEADING.search((ROOT / source).read_text(encoding="utf-8"))
    return f"{heading[2]} {heading[1]}" if heading else Path(source).stem


def on_files(files: Files, config: Any) -> Files:
    for source, page in _ELSEWHERE.items():
        text = _FRONT.sub("", (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    return _LINK.sub(lambda found: f"]({up}{_ELSEWHERE[found[1]]}", markdown)
