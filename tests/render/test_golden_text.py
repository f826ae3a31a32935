"""The answer on a terminal, row by row: at 80 and 120 columns, with and without colour. After a change that is meant,
`python tests/render/test_golden_text.py` writes the files anew; read what git shows then."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import COUNTED, REPEATING, SCALAR, TYPICAL, UNJUDGED

from twinrun.render.text import as_lines
from twinrun.result import CheckResult, ChildResult
from twinrun.terminal import text_of

GOLDEN = Path(__file__).parent / "golden"
RESULTS = {
    "repeats": REPEATING,
    "diverges": TYPICAL,
    "one-number": SCALAR,
    "undecided": UNJUDGED,
    "worker-counts": COUNTED,
}
VIEWS = [
    (name, width, colour, verbose)
    for name in RESULTS
    for width in (80, 120)
    for colour in (False, True)
    for verbose in (False, True)
    if name == "diverges" or not verbose
]


def file_of(name: str, width: int, colour: bool, verbose: bool) -> Path:
    parts = [name, str(width), *(["colour"] if colour else []), *(["verbose"] if verbose else [])]
    return GOLDEN / f"{'-'.join(parts)}.txt"


def drawn(result: CheckResult, width: int, colour: bool, verbose: bool) -> str:
    return text_of(as_lines(result, verbose=verbose), colour=colour, width=width)


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
    text = drawn(one, 120, False, False)
    assert "2 runs, 1 step and 1 child process compared" in text
    assert "child: repeats, 1 step\n" in text and "1 steps" not in text
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
