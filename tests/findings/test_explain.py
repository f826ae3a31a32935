"""`twinrun explain`, as a user calls it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

from twinrun.findings.catalogue import FAMILIES, all_entries, page

COMMAND = [sys.executable, "-m", "twinrun", "explain"]


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_a_code_prints_its_page_as_it_is_when_nobody_watches() -> None:
    done = explain("tw203")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == page("TW203")


def test_a_name_is_as_good_as_a_code() -> None:
    assert explain("random-op-in-parallel-map").stdout == page("TW203")


def test_without_a_code_every_code_is_listed_by_family() -> None:
    done = explain()
    assert done.returncode == 0
    for family, title in FAMILIES.items():
        assert f"{family}  {title}" in done.stdout
    for entry in all_entries():
        assert f"  {entry.code}  {entry.name}" in done.stdout


def test_an_unknown_code_exits_2_with_near_matches_on_stderr() -> None:
    done = explain("TW230")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no code 'TW230' in the catalogue\n")
    assert "TW203 (random-op-in-parallel-map)" in done.stderr


def test_json_gives_one_code_with_its_page() -> None:
    document = json.loads(explain("TW302", "--output-format", "json").stdout)
    assert document["schema"] == "twinrun/explain/1"
    assert document["page"] == page("TW302")
    assert [(code["code"], code["name"], code["family"]) for code in document["codes"]] == [
        ("TW302", "file-order", "Python and the outside")
    ]


def test_json_without_a_code_gives_them_all() -> None:
    document = json.loads(explain("--output-format", "json").stdout)
    assert [code["code"] for code in document["codes"]] == [entry.code for entry in all_entries()]
    assert "page" not in document


def test_in_a_terminal_the_page_is_drawn_and_no_color_is_honoured() -> None:
    def shown(**environment: str) -> str:
        reader, writer = pty.openpty()
        subprocess.run(
            [*COMMAND, "TW302"], stdout=writer, check=True, env={**os.environ, "TERM": "xterm", **environment}
        )
        os.close(writer)
        text = b""
        try:
            while chunk := os.read(reader, 65536):
                text += chunk
        except OSError:  # the other end of a terminal is closed
            pass
        os.close(reader)
        return text.decode()

    assert "\x1b[" in shown() and "## Example" not in shown()
    assert "\x1b[3" not in shown(NO_COLOR="1")
