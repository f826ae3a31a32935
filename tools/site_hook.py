"""For `make docs`. The order of the pages is that of docs/index.md. Texts that lie elsewhere, where the package or a reader of the
source finds them, become pages of the site too."""

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
_PAGE = re.compile(r"\[([^\]]+)\]\(([\w/-]+\.md)\)")


def on_config(config: Any) -> Any:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        pages = [{title: page} for title, page in _PAGE.findall(section)]
        nav.append({section.partition("\n")[0]: pages})
    codes = [{Path(page).stem: page} for page in _ELSEWHERE.values() if "/codes/" in page]
    nav.append({"Codes": codes})
    config["nav"] = nav
    return config


def on_files(files: Files, config: Any) -> Files:
    for source, page in _ELSEWHERE.items():
        text = _FRONT.sub("", (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    return _LINK.sub(lambda found: f"]({up}{_ELSEWHERE[found[1]]}", markdown)
