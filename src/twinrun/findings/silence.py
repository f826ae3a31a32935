"""Silencing a finding in one line, with a reason: `# twinrun: ignore[TW203] the order is restored below`.

The reason is required. A comment without one silences nothing, and the finding notes it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from twinrun.errors import UnknownCode
from twinrun.findings.catalogue import lookup
from twinrun.findings.finding import Finding

_COMMENT = re.compile(r"#\s*twinrun:\s*ignore\s*\[(?P<codes>[^\]]*)\](?P<reason>.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Silence:
    """One ignore comment: the codes it names, its reason, and the words in it that are not codes."""

    codes: tuple[str, ...]
    reason: str | None
    unknown: tuple[str, ...] = ()

    def names(self, code: str) -> bool:
        return lookup(code).code in self.codes


@dataclass(frozen=True)
class Sifted:
    """Findings that are reported, and findings that were silenced, each with the reason given."""

    kept: tuple[Finding, ...]
    silenced: tuple[tuple[Finding, str], ...]


def silence(source_line: str) -> Silence | None:
    """The ignore comment of a line of source, or None when it has none."""
    match = _COMMENT.match(_comment(source_line))
    if match is None:
        return None
    codes, unknown = [], []
    for word in filter(None, (part.strip() for part in match["codes"].split(","))):
        try:
            codes.append(lookup(word).code)
        except UnknownCode:
            unknown.append(word)
    return Silence(tuple(codes), match["reason"].strip(" \t-:,;") or None, tuple(unknown))


def sift(findings: Iterable[Finding], source_of: Callable[[str], str | None]) -> Sifted:
    """Take out the findings that the user's source silences.

    `source_of(file)` gives a file's text, or None when it cannot be read. The comment may be on the
    finding's line, on any line of the statement it belongs to, or alone on the line above.
    """
    kept: list[Finding] = []
    taken_out: list[tuple[Finding, str]] = []
    read = cache(source_of)
    for each in findings:
        text = read(each.file) if each.file is not None and each.line is not None else None
        comments = map(silence, lines_that_silence(text or "", each.line or 0))
        about = [found for found in comments if found is not None and found.names(each.code)]
        reason = next((found.reason for found in about if found.reason), None)
        if reason is not None:
            taken_out.append((each, reason))
        elif about:
            remark = f"ignore[{each.code}] has no reason here, so it is ignored"
            kept.append(replace(each, evidence=(*each.evidence, remark)))
        else:
            kept.append(each)
    return Sifted(tuple(kept), tuple(taken_out))


def lines_that_silence(source: str, line: int) -> list[str]:
    """The lines where a comment about the finding at `line` may be."""
    lines = re.split(r"\r\n|\r|\n", source)  # str.splitlines counts lines otherwise than ast
    first, last = _statement(source, line)
    chosen = lines[first - 1 : last]
    if 2 <= first <= len(lines) + 1 and lines[first - 2].lstrip().startswith("#"):
        chosen.append(lines[first - 2])
    return chosen


def _statement(source: str, line: int) -> tuple[int, int]:
    """First and last line of the innermost statement around `line`; of a compound one, its header."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return line, line
    best = (line, line)
    for node in ast.walk(tree):  # breadth first: deeper statements come later
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            if line <= max(last or line, node.lineno):
                best = (node.lineno, max(last or line, node.lineno))
    return best


def _comment(source_line: str) -> str:
    """The comment of one line. A `#` inside a string does not start one."""
    if "#" not in source_line:
        return ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source_line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return token.string
    except (tokenize.TokenError, SyntaxError):
        found = _COMMENT.search(source_line)
        return found[0] if found else ""
    return ""
