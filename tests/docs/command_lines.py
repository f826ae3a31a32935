"""The command lines of the pages, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(ROOT / "docs" / "reference" / "cli.md")  # which is written from the verbs themselves
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
_INLINE = re.compile(r"`((?:TWINRUN_\w+=\S+ )?twinrun [^`]+)`")
_RUNNABLE = re.compile(r"twinrun |pip |make |eval |%|import |with |TWINRUN_")
_OPERATORS = {">", "|", "&&", "||", ";", "<"}


def blocks(page: Path) -> Iterator[list[str]]:
    """The lines of each block that hold commands of twinrun."""
    text = page.read_text()
    fenced = [inside for kind, inside in _FENCED.findall(text) if kind in ("console", "sh", "bash", "")]
    rest = _FENCED.sub("", text)
    for block in (*fenced, *_INDENTED.findall(rest)):
        lines = [re.sub(r"^\s*(?:\w*\$ +)?", "", line) for line in block.splitlines()]
        commands = [line for line in lines if line.startswith("twinrun ")]
        if commands:
            yield commands


def blocks_of(page: Path) -> Iterator[str]:
    """The blocks that somebody could run: fenced as commands or Python, or indented and no mere answer. Without prompts."""
    text = page.read_text()
    fenced = [inside for kind, inside in _FENCED.findall(text) if kind in ("console", "sh", "bash", "python")]
    indented = [
        re.sub("^    ", "", block, flags=re.MULTILINE) for block in _INDENTED.findall(_FENCED.sub("", text))
    ]
    yield from (re.sub(r"^(?:\w*\$ +)", "", block, flags=re.MULTILINE) for block in fenced)
    yield from (block.lstrip("\n") for block in indented if _RUNNABLE.match(block.lstrip("\n")))


def mentions(page: Path) -> list[str]:
    """Those in running text and in tables."""
    return _INLINE.findall(_FENCED.sub("", page.read_text()))


def words(command: str) -> list[str]:
    """What the shell hands to twinrun: no comment, and nothing behind an operator."""
    found = shlex.split(command, comments=True)
    end = next((at for at, word in enumerate(found) if word in _OPERATORS), len(found))
    return found[1:end]
