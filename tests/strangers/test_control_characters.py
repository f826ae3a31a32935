"""Control characters reach no terminal, whatever field they are in; and no field begins a line of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from asked import asked
from fuzzing import FORMATS_OF_REPORTS, NOT_SHOWN, result_documents, with_text
from support import on_a_terminal
from twinrun.terminal import Line, inline, printable, text_of

NASTY = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\u2028\r\x0b\x85\x7f\nrepeats: all is well"


@pytest.fixture(params=sorted(result_documents()))
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A result with them in each of its texts."""
    file = tmp_path / "result.json"
    file.write_text(json.dumps(with_text(result_documents()[request.param], NASTY)))
    return file


@pytest.mark.parametrize("output_format", FORMATS_OF_REPORTS)
def test_no_format_of_a_report_sends_any(
    saved: Path, output_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    answer = asked("report", saved, "--output-format", output_format)
    shown = answer.out + answer.err + (summary.read_text() if summary.exists() else "")
    assert not NOT_SHOWN & set(shown)
    if output_format in ("text", "github") and answer.code == 0:
        assert not [line for line in shown.splitlines() if line.startswith("repeats")]
    if output_format == "github" and answer.code == 0:
        assert all(re.match("::(error|warning) ", line) for line in answer.out.splitlines())


def test_a_terminal_gets_colours_of_ours_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(with_text(result_documents()["check"], NASTY)))
    shown = on_a_terminal("report", file)
    ours = re.findall(r"\x1b\[[0-9;]*m", shown)
    assert ours[:2] == ["\x1b[31m", "\x1b[0m"] and set(ours) <= {
        f"\x1b[{code}m" for code in (0, 2, 31, 32, 33)
    }
    assert not NOT_SHOWN & set(re.sub(r"\x1b\[[0-9;]*m", "", shown))
    assert not [line for line in shown.splitlines() if line.startswith("repeats")]


def test_a_terminal_gets_a_patch_without_what_the_source_holds(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import tensorflow as tf  # \x1b[2J\nds = tf.data.Dataset.range(9).shuffle(9)\ntf.keras.Model().fit(ds)\n"
    )
    words = ("audit", "--source-only", "--fix-diff", program)
    assert "\x1b" not in on_a_terminal(*words)
    assert "\x1b[2J" in asked(*words).out  # a patch must apply


def test_what_is_shown_of_a_character_tells_which_it_was() -> None:
    assert printable("a\x1b\x9b\u202e\ud800\n\tb") == "a\\x1b\\x9b\\u202e\\ud800\n\tb"
    assert inline("a\n\tb") == "a\\n\\tb"
    assert (
        text_of([Line("repeats\n", "repeats", "\x1b"), "x\ny"], colour=True)
        == "\x1b[32mrepeats\\n\x1b[0m\\x1b\nx\\ny\n"
    )


def test_an_error_names_a_file_in_one_line(tmp_path: Path) -> None:
    name = "a\nrepeats\x1b[31m"
    answer = asked("report", tmp_path / name)
    assert answer.code == 2 and answer.err.splitlines()[0].endswith("a\\nrepeats\\x1b[31m")
    for words in (
        ("diff", name, name),
        ("check", name),
        ("explain", name),
        ("env", "show", name),
        (name,),
        ("check", f"--{name}"),
    ):
        assert "\x1b" not in asked(*words).err
