"""SARIF 2.1.0, for code scanning: findings with their places, and the rules they belong to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinrun import __version__
from twinrun.findings.finding import Finding
from twinrun.render.text import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(findings: Sequence[Finding]) -> str:
    codes = list(dict.fromkeys(finding.code for finding in findings))
    rules = [_rule(code, next(f for f in findings if f.code == code)) for code in codes]
    driver = {"name": "twinrun", "version": __version__, "rules": rules}
    results = [_result(finding, codes.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str, finding: Finding) -> dict[str, Any]:
    """What the catalogue says of a code; one that it does not know has its name alone."""
    from twinrun.errors import TwinrunError
    from twinrun.findings.catalogue import lookup, page

    rule: dict[str, Any] = {"id": code, "name": finding.name}
    try:
        entry = lookup(code)
        rule["shortDescription"] = {"text": entry.summary}
        rule["help"] = {"text": entry.advice, "markdown": page(code)}
    except (TwinrunError, OSError):
        rule["shortDescription"] = {"text": finding.name}
    return rule


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    text = [finding.message, *finding.evidence]
    if finding.fix:
        text.append(f"fix: {finding.fix}")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": "error" if finding.confirmed else "warning",
        "message": {"text": printable("\n".join(text))},
    }
    if finding.file is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
        if finding.line is not None:
            place["region"] = {"startLine": max(1, finding.line)}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(file: str) -> str:
    """Relative to the working folder where it lies there, as code scanning wants it; percent-encoded."""
    from urllib.parse import quote

    path = Path(file)
    if path.is_absolute():
        try:
            path = path.relative_to(Path.cwd())
        except ValueError:
            return path.as_uri()
    return quote(path.as_posix())
