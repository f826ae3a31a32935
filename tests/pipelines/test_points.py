"""The functions that the audit of pipelines replaces: each once, and what a missing one costs is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import twinrun, write
from twinrun.pipelines.built_datasets import POINTS
from twinrun.protocol.point import Point
from twinrun.protocol.registry import frameworks, sources
from twinrun.twin.session import Session

CONSTRUCTOR, ITERATOR = POINTS[0].place, POINTS[1].place
CLEAN = """
    import tensorflow as tf

    for batch in tf.data.Dataset.range(8).shuffle(8, seed=1).batch(4):
        print(batch)
"""
UNSEEDED = CLEAN.replace(", seed=1", "")
# A source from outside, which starts before TensorFlow is imported, hides a point from the installer.
HIDER = """
from twinrun.errors import MissingPoint
from twinrun.protocol.source import Source
from twinrun.twin import patch_table

class Hider(Source):
    name = "hider"

    def start(self, session):
        found = patch_table.find

        def find(place):
            if place == HIDDEN:
                raise MissingPoint(f"this release has no {place}", where=place)
            return found(place)

        patch_table.find = find
"""


def test_no_source_and_no_framework_replaces_the_same_function() -> None:
    owners = (*sources(), *frameworks())
    controls = [control for owner in owners for control in getattr(owner, "controls", ())]
    others = {point.place for owner in (*owners, *controls) for point in owner.points}
    assert len(others) > 100
    assert [point.place for point in POINTS if point.place in others] == []


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.place)
def test_without_a_point_there_is_a_note(point: Point) -> None:
    session = Session()
    missing = replace(point, place=f"twinrun.errors:{point.path}", after="twinrun.errors")
    session.patches.install("pipelines", [missing])
    (note,) = session.notes
    assert note.startswith("the audit may miss something: ") and point.reason in note
    assert point.needed_for == ("audit",) and point.tested_on


def audit_without(place: str, program: str, folder: Path) -> dict[str, Any]:
    """An audit in which this point is missing."""
    packages = folder / "site-packages"
    info = packages / "hider-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "hider.py").write_text(f"HIDDEN = {place!r}\n{HIDER}")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[twinrun.sources]\nhider = hider:Hider\n")
    answer = twinrun(
        "audit", "--output-format", "json", write(folder, program), env={"PYTHONPATH": str(packages)}
    )
    return answer.document


def test_an_audit_that_may_have_missed_an_input_does_not_call_the_program_clean(tmp_path: Path) -> None:
    found = audit_without(ITERATOR, CLEAN, tmp_path)
    assert (found["verdict"], found["findings"]) == ("undecided", []), found
    assert found["reason"].startswith(f"the audit may miss something: this release has no {ITERATOR}")


def test_without_a_point_the_other_findings_stay(tmp_path: Path) -> None:
    found = audit_without(CONSTRUCTOR, UNSEEDED, tmp_path)
    assert "TW201" in [one["code"] for one in found["findings"]], found
    assert any("the audit may miss something" in note and CONSTRUCTOR in note for note in found["notes"])
