"""SARIF 2.1.0: findings for code scanning. One run, one rule for each code that occurs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath
from typing import Any
from urllib.parse import quote

from twinrun import __version__
from twinrun.errors import UnknownCode
from twinrun.findings.catalogue import lookup
from twinrun.findings.finding import Finding
from twinrun.render.github import whole_text

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(findings: Sequence[Finding]) -> str:
    """The findings as one SARIF document."""
    codes = sorted({finding.code for finding in findings})
    rules = {code: number for number, code in enumerate(codes)}
    names = {finding.code: finding.name for finding in findings}
    driver = {
        "name": "twinrun",
        "semanticVersion": __version__,
        "rules": [_rule(code, names[code]) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules[finding.code]) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str, name: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "name": name}
    try:
        entry = lookup(code)
    except UnknownCode:  # from the result of a newer Twinrun
        return rule
    rule["shortDescription"] = {"text": entry.summary}
    rule["help"] = {"text": f"{entry.advice}\n\ntwinrun explain {code}"}
    rule["properties"] = {"tags": ["reproducibility", entry.family]}
    return rule


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": "error" if finding.confirmed else "warning",
        "message": {"text": whole_text(finding)},
        "properties": {"confirmed": finding.confirmed},
    }
    if finding.file is not None:
        location: dict[str, Any] = {"artifactLocation": _artifact(finding.file)}
        if (line := finding.file_line or finding.line) is not None and line >= 1:
            location["region"] = {"startLine": line}
        place: dict[str, Any] = {"physicalLocation": location}
        if finding.cell is not None:
            place["logicalLocations"] = [
                {"name": f"cell {finding.cell}, line {finding.line}", "kind": "cell"}
            ]
        result["locations"] = [place]
    return result


def _artifact(file: str) -> dict[str, str]:
    """A relative path is relative to the root of the repository; an absolute one is a file address."""
    path = PurePosixPath(PurePath(file).as_posix())
    quoted = quote(str(path), errors="backslashreplace")
    return {"uri": f"file://{quoted}"} if path.is_absolute() else {"uri": quoted, "uriBaseId": "%SRCROOT%"}
