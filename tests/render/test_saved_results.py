"""A result that was saved can be rendered again; one that is damaged or not a result is refused in words."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from samples import COUNTED, DRIFTING, NASTY, REPEATING, SCALAR, TYPICAL, UNJUDGED, full, results

from support import twinrun
from twinrun.errors import BadResult
from twinrun.render import json_text
from twinrun.render.fixdiff import as_fix_diff
from twinrun.render.junit import as_junit
from twinrun.render.summary import annotation
from twinrun.result import CheckResult

ROOT = Path(__file__).parents[2]


def saved(folder: Path, document: Any) -> Path:
    file = folder / "result.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


@given(results)
def test_a_result_survives_being_saved(result: CheckResult) -> None:
    again = CheckResult.from_json(json.loads(json.dumps(result.as_json())))
    assert again == result and again.as_json() == result.as_json() and again.exit_code == result.exit_code


@given(results)
@settings(max_examples=50)
def test_junit_is_well_formed_and_counts_one_case(result: CheckResult) -> None:
    suite = ElementTree.fromstring(as_junit([("", result)])).find("testsuite")
    assert suite is not None
    kinds = {"repeats": "system-out", "diverges": "failure", "undecided": "error"}
    (case,) = suite.findall("testcase")
    assert [part.tag for part in case] == [kinds[result.verdict]]
    assert suite.get("failures") == str(int(result.verdict == "diverges"))


def test_junit_holds_the_names_of_a_program_escaped() -> None:
    failure = ElementTree.fromstring(as_junit([("", full(NASTY))])).find(".//failure")
    assert failure is not None and failure.get("type") == "TW105"
    assert failure.text is not None and "<script>" in failure.text and "\x1b" not in failure.text


def test_the_kind_of_the_reason_is_in_every_format_that_programs_read() -> None:
    assert UNJUDGED.as_json()["reason_kind"] == "no-step"
    error = ElementTree.fromstring(as_junit([("", UNJUDGED)])).find(".//error")
    assert error is not None and error.get("type") == "no-step"
    assert annotation("", UNJUDGED).endswith("::undecided[no-step]: no training step was observed\n")


@pytest.mark.parametrize("result", [REPEATING, UNJUDGED, full()])
def test_report_renders_every_format(result: CheckResult, tmp_path: Path) -> None:
    file = saved(tmp_path, result.as_json())
    starts = {
        "text": result.verdict,
        "html": "<!doctype html>",
        "json": "{",
        "junit": "<?xml",
        "sarif": "{",
        "github": None,
    }
    for output_format, start in starts.items():
        answer = twinrun("report", file, "--output-format", output_format)
        assert answer.code == 0 and answer.err == ""
        assert start is None or answer.out.startswith(start)
    again = json.loads(twinrun("report", file, "--output-format", "json").out)
    assert CheckResult.from_json(again) == result


def test_report_writes_to_files_when_asked(tmp_path: Path) -> None:
    file = saved(tmp_path, full().as_json())
    page, text = tmp_path / "page.html", tmp_path / "answer.txt"
    answer = twinrun("report", file, "--html", page, "--output-file", text)
    assert (answer.code, answer.out) == (0, "")
    assert page.read_text().startswith("<!doctype html>") and text.read_text().startswith(
        "diverges at step 7"
    )


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("no json at all", "cannot be read"),
        ([1, 2], "not a result"),
        ({"hello": "world"}, "not a result"),
        ({"schema": "twinrun/check/1"}, "damaged"),
        ({"schema": "twinrun/check/99"}, "newer Twinrun"),
        ({"schema": "twinrun/run/1"}, "came from twinrun run"),
        ({**REPEATING.as_json(), "verdict": "splendid"}, "damaged"),
        ({**REPEATING.as_json(), "first_difference": {"step": "x"}}, "damaged"),
        ({**REPEATING.as_json(), "findings": [17]}, "damaged"),
        ({**REPEATING.as_json(), "growth": "up"}, "damaged"),
        ({**REPEATING.as_json(), "runs": "2"}, "damaged"),
        ({**REPEATING.as_json(), "timing": {"seconds": "long"}}, "damaged"),
        ({**REPEATING.as_json(), "reason_kind": "bad-luck"}, "damaged"),
        ({**full().as_json(), "experiments": [{"what": 3}]}, "damaged"),
        (
            {
                **REPEATING.as_json(),
                "first_difference": {**full().as_json()["first_difference"], "size": None},
            },
            "damaged",
        ),
    ],
)
def test_what_is_no_result_is_refused_in_words(document: Any, said: str, tmp_path: Path) -> None:
    answer = twinrun("report", saved(tmp_path, document))
    assert answer.code == 2 and answer.out == ""
    assert answer.err.startswith("error: ") and said in answer.err and "Traceback" not in answer.err


def test_a_missing_result_is_said_to_be_missing(tmp_path: Path) -> None:
    answer = twinrun("report", tmp_path / "nowhere.json")
    assert answer.code == 2 and "no such result" in answer.err and "hint: " in answer.err


def test_findings_of_other_verbs_can_be_shown_where_findings_are_all_there_is(tmp_path: Path) -> None:
    document = {"schema": "twinrun/audit/1", "findings": full().as_json()["findings"]}
    answer = twinrun("report", saved(tmp_path, document), "--output-format", "github")
    assert answer.code == 0 and "TW105" in answer.out


def test_a_damaged_result_names_its_file() -> None:
    with pytest.raises(BadResult) as caught:
        CheckResult.from_json({"schema": "twinrun/check/1"}, where="result.json")
    assert caught.value.where == "result.json"


def test_the_patch_fixes_the_confirmed_cause_and_applies(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import tensorflow as tf\n\nds = tf.data.Dataset.range(9).shuffle(9)\nother = ds.shuffle(9)\n"
    )
    sample = full()
    confirmed, likely = sample.findings[0], sample.findings[1]
    found = sample.replace(
        program=str(program),
        findings=(
            replace(confirmed, code="TW201", file=str(program), line=3),
            replace(likely, code="TW201", file=str(program), line=4),
        ),
    )
    patch = as_fix_diff(found).decode()
    assert patch.count("\n+ ") + patch.count("\n+d") == 1 and "seed=" in patch
    subprocess.run(["patch", "-p1", "-d", "/"], input=patch, text=True, check=True, capture_output=True)
    lines = program.read_text().splitlines()
    assert "seed=" in lines[2] and "seed=" not in lines[3]
    assert as_fix_diff(found.replace(findings=())) == b""


@pytest.mark.parametrize(
    "result", [TYPICAL, REPEATING, UNJUDGED, SCALAR, COUNTED, DRIFTING, full()], ids=lambda each: each.label
)
def test_a_saved_result_is_valid_by_the_schema_of_the_documentation(result: CheckResult) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "check.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    valid = Draft202012Validator(schema).is_valid
    document = json.loads(json_text(result.as_json()))
    assert valid(document)
    assert not valid({**document, "verdict": "fine"}) and not valid({**document, "findings": [{"code": 105}]})
