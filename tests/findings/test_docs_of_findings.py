"""The how-to about silencing says what silencing does."""

from __future__ import annotations

import re
from pathlib import Path

from twinrun.findings.silence import silence

HOW_TO = Path(__file__).parent.parent.parent / "docs/how-to/silence-a-finding.md"


def test_the_example_of_the_how_to_silences_what_it_says() -> None:
    lines = re.findall(r"```python\n(.*?)\n```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    found = [silence(line) for line in lines]
    assert [(each.codes, each.reason) for each in found if each] == [(("TW302",), "counted, never iterated")]
