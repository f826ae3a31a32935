"""What was tried is told once, whatever a result keeps of it."""

from __future__ import annotations

from dataclasses import replace

from samples import TYPICAL
from test_html_reports import Page

from twinrun.render.html import as_html
from twinrun.render.text import as_text
from twinrun.result import Experiment


def test_evidence_that_is_an_experiment_stands_among_the_experiments_alone() -> None:
    line = "tried: with op-determinism on, the twins repeat for 20 steps"
    first, second = TYPICAL.findings
    findings = (replace(first, evidence=(*first.evidence, line)), second)
    result = TYPICAL.replace(findings=findings, experiments=())
    assert line in as_text(result) and line in Page(as_html(result)).text
    experiment = Experiment("with op-determinism pinned", "the twins repeat for 20 steps", "repeats", 20)
    result = result.replace(experiments=(experiment,))
    for view in (as_text(result), Page(as_html(result)).text):
        assert line not in view and view.count("with op-determinism pinned") == 1


def test_a_note_leaves_out_what_a_finding_says() -> None:
    note = "not tried: with shuffle frozen there"
    for view in (as_text(TYPICAL), Page(as_html(TYPICAL)).text):
        assert view.count(note) == 1 and "the time for the diagnosis ran out" in view
    alone = TYPICAL.replace(findings=TYPICAL.findings[:1])
    assert as_text(alone).count(f"the time for the diagnosis ran out; {note}") == 1
    same = TYPICAL.replace(notes=("the files are listed in order",))
    assert as_text(same).count("the files are listed in order") == 1
