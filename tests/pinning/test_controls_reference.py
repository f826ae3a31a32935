"""The reference page and the controls of the sources agree."""

from __future__ import annotations

import re
from pathlib import Path

from twinrun.protocol.control import Reading
from twinrun.protocol.registry import controls

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "controls.md"


def test_the_page_lists_every_control_in_order() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [control.name for control in controls()]


def test_controls_that_need_no_library_can_be_read_back_anywhere() -> None:
    free = [control for control in controls() if control.module is None]
    assert {"hash-seed", "python-random", "openmp-threads"} <= {control.name for control in free}
    assert all(isinstance(control.read(None), Reading) and callable(control.apply) for control in free)


def test_every_control_says_what_it_protects_and_how_to_set_it() -> None:
    assert all(control.protects and control.how and control.moment for control in controls())


def test_every_control_that_another_needs_exists() -> None:
    names = {control.name for control in controls()}
    assert all(name in names for control in controls() for name in control.needs)
