"""The answer on a terminal, row by row: at 80 and 120 columns, with and without colour. After a change that is meant,
`python tests/render/test_golden_text.py` writes the files anew; read what git shows then."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import AUDITED, COUNTED, CRASHED, FIXED, REPEATING, RESUMED, SCALAR, TYPICAL, UNJUDGED

from twinrun.fix.outcome import FixResult
from twinrun.render import audit_text, fix_text, resume_text, text
from twinrun.result import CheckResult, ChildResult
from twinrun.resume.outcome import ResumeResult
from twinrun.source_audit.audit_result import AuditResult
from twinrun.terminal import Lines, text_of

Result = CheckResult | AuditResult | FixResult | ResumeResult
GOLDEN = Path(__file__).parent / "golden"
RESULTS: dict[str, Result] = {
    "repeats": REPEATING,
    "diverges": TYPICAL,
    "one-number": SCALAR,
    "undecided": UNJUDGED,
    "worker-counts": COUNTED,
    "crashed": CRASHED,
    "audit": AUDITED,
    "fix": FIXED,
    "resume": RESUMED,
}
VIEWS = [
    (name, width, colour, verbose)
    for name in RESULTS
    for width in (80, 120)
    for colour in (False, True)
    for verbose in (False, True)
    if name in ("diverges", "audit") or not verbose
]


def file_of(name: str, width: int, colour: bool, verbose: bool) -> Path:
    parts = [name, str(width), *(["colour"] if colour else []), *(["verbose"] if verbose else [])]
    return GOLDEN / f"{'-'.join(parts)}.txt"


def lines_of(result: Result, verbose: bool) -> Lines:
    match result:
        case AuditResult():
            return audit_text.as_lines(result, verbose=verbose)
        case FixResult():
            return fix_text.as_lines(result)
        case ResumeResult():
            return resume_text.as_lines(result)
    return text.as_lines(result, verbose=verbose)


def drawn(result: Result, width: int, colour: bool, verbose: bool) -> str:
    return text_of(lines_of(result, verbose), colour=colour, width=width)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: file_of(*view).stem)
def test_the_answer_is_drawn_as_it_was(view: tuple[str, int, bool, bool]) -> None:
    name, *how = view
    assert drawn(RESULTS[name], *how) == file_of(*view).read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    for result in RESULTS.values():
        rows = drawn(result, width, False, True).splitlines()
        # A fix is not cut: the end of a line may be all that it changes.
        assert all(len(row) <= width or row.lstrip(" fix:")[0] in "+-" for row in rows)


def test_of_one_there_is_no_plural() -> None:
    one = REPEATING.replace(steps_compared=1, children=(ChildResult("child", "repeats", steps=1),))
    answer = drawn(one, 120, False, False)
    assert "2 runs, 1 step and 1 child process compared" in answer
    assert "child: repeats, 1 step\n" in answer and "1 steps" not in answer
    assert "4 workers, one run of each, 1 step: " in COUNTED.replace(steps_compared=1).headline


def test_colour_changes_nothing_but_the_colour() -> None:
    import re

    for result in RESULTS.values():
        painted = drawn(result, 80, True, True)
        assert re.sub(r"\x1b\[\d*m", "", painted) == drawn(result, 80, False, True)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in VIEWS:
        file_of(*each).write_text(drawn(RESULTS[each[0]], *each[1:]))
