"""Every program of the corpus has exactly the findings that are written in it, at exactly those lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_reader import Case, cases

from twinrun.source_audit.audit import audit_source

ALL = cases()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.title)
def test_a_program_has_the_findings_written_in_it(case: Case, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    audit = audit_source([case.lay_out(tmp_path).relative_to(tmp_path)])
    assert {(each.code, each.file, each.line) for each in audit.findings} == case.expected
    assert not audit.problems


def test_the_corpus_holds_guilty_and_innocent_programs_of_every_code() -> None:
    guilty = [case for case in ALL if case.expected]
    assert len(ALL) >= 120
    assert len(guilty) >= 60
    assert len(ALL) - len(guilty) >= 50
    assert {code for case in guilty for code, _, _ in case.expected} == {
        *("TW101", "TW102", "TW103", "TW104", "TW105", "TW106", "TW107", "TW108"),
        *("TW201", "TW202", "TW203", "TW204", "TW205", "TW301", "TW302", "TW303", "TW601"),
    }


def test_every_finding_says_what_it_reaches_and_what_to_do_and_claims_no_proof(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, case in enumerate(ALL):
        folder = tmp_path / str(number)
        folder.mkdir()
        for finding in audit_source([case.lay_out(folder)]).findings:
            assert not finding.confirmed
            assert finding.fix
            assert "\n" not in finding.message
            assert any(line.startswith("it reaches ") for line in finding.evidence), finding
