"""The reference page and the catalogue of controls say the same."""

from __future__ import annotations

import re
from pathlib import Path

from twinrun.sources.controls import CATALOGUE, NAMES, actions

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "controls.md"


def test_the_page_lists_every_control_in_order() -> None:
    assert tuple(re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text(), re.MULTILINE)) == NAMES


def test_controls_that_need_no_framework_can_be_applied_and_read_back() -> None:
    for control in CATALOGUE:
        if control.framework is None:
            assert callable(actions(control).apply) and callable(actions(control).read)


def test_every_control_says_what_it_protects_and_how_to_set_it() -> None:
    assert all(control.protects and control.how and control.moment for control in CATALOGUE)
