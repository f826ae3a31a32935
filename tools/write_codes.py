"""Writes docs/reference/codes.md from the catalogue: `python tools/write_codes.py`."""

from __future__ import annotations

from pathlib import Path

from twinrun.findings.catalogue import FAMILIES, all_entries

INDEX = Path(__file__).parent.parent / "docs" / "reference" / "codes.md"
PAGES = "../../src/twinrun/findings/pages"


def index() -> str:
    """The index of all codes, by family, each linked to its page."""
    lines = [
        "# The codes",
        "",
        "<!-- Written by tools/write_codes.py from the catalogue. Change the catalogue, not this file. -->",
        "",
        "Every finding carries one of these codes. `twinrun explain CODE` prints the page of one: what it",
        "is, why it breaks repeatability, an example, and what to write instead. Codes are stable: they are",
        'added, never reused. A code that is "not emitted yet" has a page, and no check or audit reports it.',
        "",
        "Silence a finding in the line it is about, with its code and a reason:",
        "",
        "```python",
        "files = os.listdir(folder)  # twinrun: ignore[TW302] counted, never iterated",
        "```",
        "",
        "Without a reason the comment is ignored, and the finding notes it.",
    ]
    for family, title in FAMILIES.items():
        lines += ["", f"## {family}: {title}", "", "| code | name | what it is |", "|---|---|---|"]
        for entry in all_entries():
            if entry.family_code == family:
                lines.append(
                    f"| [{entry.code}]({PAGES}/{entry.code}.md) | {entry.name} | {entry.listed_summary} |"
                )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    INDEX.parent.mkdir(parents=True, exist_ok=True)
    INDEX.write_text(index(), encoding="utf-8")
