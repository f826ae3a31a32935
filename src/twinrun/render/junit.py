"""JUnit XML, for CI systems that show test results: one check is one suite with one test case. Diverging is a failure,
not being able to judge is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinrun.render.templates import render
from twinrun.render.text import as_text
from twinrun.result import CheckResult


def as_junit(results: Sequence[tuple[str, CheckResult]]) -> str:
    """A suite for each program, with the sums at the top."""
    text = render("junit.xml.j2", results=results, took=_took, as_text=as_text)
    return text.replace("&#39;", "'")  # which XML needs escaped nowhere, and people read in the file itself


def _took(results: Iterable[CheckResult]) -> str:
    return f"{sum(result.timing.get('seconds', 0.0) for result in results):.3f}"
