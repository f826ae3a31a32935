"""What was tried is told once, whatever a result keeps of it."""

from __future__ import annotations

from dataclasses import replace

from samples import TYPICAL
from test_html_reports import Page

from twinrun.render.html import as_html
from twinrun.render.text import as_text
from twinrun.result import Experiment

TRIED = (
    ("with op-determinism on, the twins repeat for 20 steps", "the twins repeat for 20 steps"),
    ("with op-determinism pinned they repeat for 1 step", "the twins repeat for 1 step"),
    ("with op-determinism on, the twins still differ", "they still differ, at step 3, phase loss"),
)


def test_evidence_that_is_an_experiment_stands_among_the_experiments_alone() -> None:
    first, second = TYPICAL.findings
    for told, outcome in TRIED:
        line = f"tried: {told}"
        finding = replace(first, evidence=(*first.evidence, line))
        experiment = Experiment("with op-determinism pinned", outcome, "repeats", 20)
        result = TYPICAL.replace(findings=(finding, second))
        assert line in as_text(result) and line in Page(as_html(result)).text
        result = result.replace(experiments=(*result.experiments, experiment))
        assert line not in as_text(result) and line not in Page(as_html(result)).text
        assert as_text(result).count(f"with op-determinism pinned: {outcome}") == 1
        other = result.replace(experiments=(Experiment("with threads pinned", outcome, "repeats", 20),))
        assert line in as_text(other)


def test_a_note_leaves_out_what_a_finding_says() -> None:
    note = "not tried: with shuffle frozen there"
    for view in (as_text(TYPICAL), Page(as_html(TYPICAL)).text):
        assert view.count(note) == 1 and "the time for the diagnosis ran out" in view
    alone = TYPICAL.replace(findings=TYPICAL.findings[:1])
    assert as_text(alone).count(f"the time for the diagnosis ran out; {note}") == 1
    same = TYPICAL.replace(notes=("the files are listed in order",))
    assert as_text(same).count("the files are listed in order") == 1
