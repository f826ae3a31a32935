"""What the tests of the fixes share: a program in, the fixed program out."""

from __future__ import annotations

from textwrap import dedent

from twinrun.findings.fixes import Fix, propose


def program(text: str) -> str:
    return dedent(text).lstrip("\n")


def line_of(source: str, part: str) -> int:
    """The number of the one line that holds this text."""
    numbers = [number for number, line in enumerate(source.splitlines(), 1) if part in line]
    assert len(numbers) == 1, f"{part!r} stands on {len(numbers)} lines"
    return numbers[0]


def proposed(code: str, source: str, at: str) -> Fix | None:
    text = program(source)
    return propose(code, "train.py", line_of(text, at), text)


def fixed(code: str, source: str, at: str, *, safe: bool | None = None) -> str:
    """The program after the fix of the finding at the line that holds `at`."""
    fix = proposed(code, source, at)
    assert fix is not None, "no fix was proposed"
    if safe is not None:
        assert fix.safe is safe, fix.note
    return fix.fixed
