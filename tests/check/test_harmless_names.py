"""Names come from programs and recordings. Whatever they hold, showing them does no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import check, twinrun, write

NASTY = "[red]x[/red]\x1b[31m\x1b]0;title\x07\r\nrepeats: all is well\x00\x9b2J\u202e</script><b>&\"'%s{0}"
PROGRAM = f"""
import os, twinrun
name = {NASTY!r}
twinrun.probe(name, list(os.urandom(9)))
"""


def harmless(text: str) -> None:
    assert not [char for char in text if not char.isprintable() and char != "\n"], repr(text)
    assert not any(line.startswith("repeats") for line in text.splitlines())


def test_in_words_control_characters_are_shown_and_not_sent(tmp_path: Path) -> None:
    answer = twinrun("check", "--no-diagnose", write(tmp_path, PROGRAM))
    assert answer.code == 1 and answer.err == ""
    harmless(answer.out)
    assert "[red]x[/red]\\x1b[31m" in answer.out


def test_in_the_document_the_name_is_whole_and_escaped(tmp_path: Path) -> None:
    answer = check(write(tmp_path, PROGRAM))
    harmless(answer.out)
    assert answer.document["first_difference"]["tensor"] == NASTY


@pytest.mark.parametrize("form", ["sarif", "junit", "github"])
def test_in_the_other_formats_too(tmp_path: Path, form: str) -> None:
    answer = twinrun("check", "--no-diagnose", "--output-format", form, write(tmp_path, PROGRAM))
    harmless(answer.out)
    if form == "sarif":
        json.loads(answer.out)
    elif form == "junit":
        from xml.etree import ElementTree

        ElementTree.fromstring(answer.out)


def test_last_words_and_recordings_are_shown_the_same_way(tmp_path: Path) -> None:
    loud = write(tmp_path, f"import sys\nsys.stderr.write({NASTY!r})\nsys.exit(1)", "loud.py")
    harmless(twinrun("check", "--no-diagnose", loud).out.replace("\nrepeats", ""))
    program = write(tmp_path, PROGRAM)
    for name in ("a", "b"):
        assert twinrun("run", "--dir", tmp_path / name, program).code == 0
    harmless(twinrun("diff", tmp_path / "a" / "A", tmp_path / "b" / "A").out)


def test_a_file_name_is_shown_the_same_way(tmp_path: Path) -> None:
    answer = twinrun("check", tmp_path / "no\x1b[31mfile.py")
    assert answer.code == 2
    harmless(answer.err)
