"""A patch for the reported causes, made from the user's own source, for `git apply` or `patch -p1`. It holds only
fixes that change nothing but randomness and order."""

from __future__ import annotations

from pathlib import Path

from twinrun.errors import UnknownCode
from twinrun.findings.finding import Finding
from twinrun.findings.fixes import Fix, as_diff, propose
from twinrun.result import CheckResult


def as_fix_diff(result: CheckResult) -> str:
    """The patch; empty when nothing can be fixed automatically. Where causes are confirmed, likely ones are left out."""
    confirmed = [finding for finding in result.findings if finding.confirmed]
    program = _program(result.program)
    fixes = [fix for finding in confirmed or result.findings if (fix := _fix(finding, program)) is not None]
    return as_diff(fix for fix in fixes if fix.safe)


def _fix(finding: Finding, program: tuple[str, str] | None) -> Fix | None:
    if finding.file is None or finding.line is None:
        return None
    # One spelling for one file: the finding may name the program by its absolute path.
    file = program[0] if program is not None and _same(finding.file, program[0]) else finding.file
    source = _source(file)
    if source is None:
        return None
    try:
        return propose(finding.code, file, finding.line, source, program=program)
    except UnknownCode:  # from the result of a newer Twinrun
        return None


def _program(name: str) -> tuple[str, str] | None:
    """The script that was started and its text. For a module (`-m`) the place of the finding decides."""
    source = _source(name)
    return None if source is None else (name, source)


def _source(file: str) -> str | None:
    """The text with its line endings as they are: a patch must fit them."""
    if not file.endswith(".py"):
        return None
    try:
        with Path(file).open(newline="", encoding="utf-8") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).resolve() == Path(other).resolve()
    except OSError:
        return False
