"""SARIF and GitHub annotations are valid whatever a finding holds."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from twinrun.findings.finding import Finding
from twinrun.render.github import as_github
from twinrun.render.sarif import as_sarif

# The objects of SARIF 2.1.0 that are written, with the properties that the standard gives them.
_SARIF = {
    "document": {"$schema", "version", "runs"},
    "run": {"tool", "columnKind", "results"},
    "driver": {"name", "semanticVersion", "rules"},
    "rule": {"id", "name", "shortDescription", "help", "properties"},
    "result": {"ruleId", "ruleIndex", "level", "message", "locations", "properties"},
}

findings = st.builds(
    Finding,
    code=st.sampled_from(["TW101", "TW203", "TW999"]),
    name=st.text(),
    message=st.text(),
    file=st.none() | st.text(min_size=1),
    line=st.none() | st.integers(-1, 10**6),
    confirmed=st.booleans(),
    evidence=st.lists(st.text(), max_size=3).map(tuple),
    fix=st.none() | st.text(),
)


def check_sarif(text: str, count: int) -> dict[str, Any]:
    document = json.loads(text)
    assert document["version"] == "2.1.0"
    assert set(document) == _SARIF["document"]
    (run,) = document["runs"]
    assert set(run) <= _SARIF["run"]
    driver = run["tool"]["driver"]
    assert set(driver) <= _SARIF["driver"]
    assert len(run["results"]) == count
    for rule in driver["rules"]:
        assert set(rule) <= _SARIF["rule"]
    for result in run["results"]:
        assert set(result) <= _SARIF["result"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
        assert isinstance(result["message"]["text"], str)
        for location in result.get("locations", ()):
            physical = location["physicalLocation"]
            assert set(physical) <= {"artifactLocation", "region"}
            uri = physical["artifactLocation"]["uri"]
            assert uri.isascii()
            assert not set(uri) & set(' <>"{}|\\^`\n')
            assert physical.get("region", {"startLine": 1})["startLine"] >= 1
    return run


@given(st.lists(findings, max_size=4))
def test_sarif_is_valid_for_any_finding(found: list[Finding]) -> None:
    try:
        text = as_sarif(found)
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate in a file name cannot be an address
        return
    check_sarif(text, len(found))


def test_sarif_names_the_rule_the_place_and_the_text() -> None:
    finding = Finding(
        "TW302", "file-order", "a list", "a folder/träin.py", 3, evidence=("it reaches fit()",), fix="sort"
    )
    run = check_sarif(as_sarif([finding]), 1)
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "TW302"
    assert rule["shortDescription"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == "a folder/träin.py"
    assert place["region"] == {"startLine": 3}
    assert result["message"]["text"] == "a list\nit reaches fit()\nfix: sort"
    assert result["level"] == "warning"


@given(st.lists(findings, max_size=4))
def test_an_annotation_is_one_line_and_cannot_start_another(found: list[Finding]) -> None:
    lines = as_github(found).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(found)
    for line in lines:
        assert line.startswith(("::warning ", "::error "))
        assert "\r" not in line


def test_an_annotation_escapes_what_workflow_commands_treat_specially() -> None:
    finding = Finding("TW302", "file-order", "100% sure\nnot", "a,b:c.py", 3)
    expected = "::warning file=a%2Cb%3Ac.py,line=3,title=TW302 file-order::100%25 sure%0Anot\n"
    assert as_github([finding]) == expected
