"""Every command line of the documentation is one that Twinrun takes, and those of the first pages are run."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import textwrap
from pathlib import Path

import click
import pytest
from command_lines import PAGES, ROOT, blocks, mentions, words

import twinrun as package
from support import LIBRARIES, python, twinrun, write
from twinrun.cli.group import cli


def parsed(command: list[str], *, whole: bool) -> None:
    """Fails where an option or verb is unknown. `whole`: nothing may be missing either."""
    if command[0] in ("--help", "--version"):
        return
    context, name = click.Context(cli, info_name="twinrun"), command[0]
    found = cli.get_command(context, name)
    rest = command[1:]
    assert found is not None, f"no verb {name}"
    while isinstance(found, click.Group) and rest and not rest[0].startswith("-"):
        inner = found.get_command(context, rest[0])
        assert inner is not None, f"no verb {name} {rest[0]}"
        found, name, rest = inner, rest[0], rest[1:]
    if isinstance(found, click.Group) and not rest:
        return
    try:
        found.make_context(name, list(rest), parent=context)
    except click.exceptions.Exit:  # --help
        return
    except click.MissingParameter:
        assert not whole


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_of_a_page_is_valid(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # the settings of this project are none of the readers'
    for command in [line for block in blocks(page) for line in block]:
        parsed(words(command), whole=True)
    for command in mentions(page):
        if not {"…", "VERB"} & set(command.split()):
            parsed(words(command[command.index("twinrun ") :]), whole=False)
    assert "passed to the program" not in capsys.readouterr().err


# Trains nothing that needs a framework: what these pages show is how commands are put together.
PROGRAM = """
import argparse, {random}
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.parse_args()
import twinrun
print("run name: 1")
twinrun.probe("drawn", [{drawn}])
"""
REPEATS = PROGRAM.format(random="sys", drawn="1.0")
DIVERGES = PROGRAM.format(random="random", drawn="random.random()")
RUN = (
    "audit-source", "baselines-in-ci", "check-a-program", "debug-an-op", "notebooks", "pin", "rebuild-an-environment", "record-and-compare",
    "reports", "use-the-fixes",
)  # fmt: skip
# Minutes; a package index; TensorFlow, which other tests start for them.
NOT_RUN = re.compile(r"--vary all|^twinrun cost|--hashes|--patches|^twinrun doctor *#")


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work_one_after_the_other(page: str, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for block in blocks(ROOT / "docs" / "how-to" / f"{page}.md"):
        diverges = any("--resume-diagnosis" in line for line in block)
        for name in ("train.py", "package/train.py", "conv.py", "pooling.py"):
            write(tmp_path, DIVERGES if diverges else REPEATS, name)
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": REPEATS}
        book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        write(tmp_path, json.dumps(book), "analysis.ipynb")
        for command in block:
            if NOT_RUN.search(command):
                continue
            if "env diff" in command:
                for name in ("run-a", "run-b"):
                    twinrun("check", "--dir", name, "train.py", cwd=tmp_path)
            if "--write" in command:  # only into a git tree
                subprocess.run(["git", "init", "-q", tmp_path], check=True)
            answer = twinrun(*words(command), cwd=tmp_path, env={"COLUMNS": "100"})
            assert answer.code == int(diverges), f"{command}\n{answer.out}\n{answer.err}"
            assert "Traceback" not in answer.err


def test_python_blocks_are_python() -> None:
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            tree = ast.parse(textwrap.dedent(block).replace("…", "..."))
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "twinrun"
                ):
                    known = node.attr in (*package.__all__, "pipelines", "check", "baseline", "recording")
                    assert known, f"{page.name}: twinrun.{node.attr}"


TUTORIAL = (ROOT / "docs" / "tutorial" / "first-check.md").read_text()


def shown(kind: str) -> list[str]:
    """The blocks of the tutorial that are of this kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)


def patched(folder: Path, patch: str) -> None:
    subprocess.run(
        ["patch", "-p1"], cwd=folder, input=patch, text=True, check=True, stdout=subprocess.DEVNULL
    )


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """A program with TensorFlow: diverges, is explained, and repeats with the patch on the page."""
    write(tmp_path, *shown("python"))
    before = twinrun("check", "train.py", cwd=tmp_path)
    verdict, cause = shown("text")
    assert before.code == 1 and verdict.splitlines()[0] in before.out and cause in before.out
    patched(tmp_path, *shown("diff"))
    after = twinrun("check", "train.py", cwd=tmp_path)
    promised = re.findall(r"^repeats: .*$", TUTORIAL, re.MULTILINE)[0]
    assert after.code == 0 and after.out.startswith(promised), after.out + after.err


@pytest.mark.slow  # a minute
def test_the_commands_of_the_tutorial_give_what_it_shows(tmp_path: Path) -> None:
    write(tmp_path, *shown("python"))
    _, _, fix, _, vary, report = (block.splitlines() for block in shown("console"))
    made = twinrun(*words(fix[0][2:]), cwd=tmp_path)
    assert (made.code, made.out) == (0, *shown("diff"))
    assert made.err.splitlines()[-2:] == fix[1:]
    patched(tmp_path, made.out)
    for (line,) in (vary, report):
        assert twinrun(*words(line[2:]), cwd=tmp_path).code == 0
    assert (tmp_path / "report.html").is_file()


_TRIED = re.compile(r"^```python\n([^`]*)^```\n\n```console\n\$ ([^\n]+)\n([^`]*)^```$", re.MULTILINE)


@pytest.mark.slow  # half a minute each
@pytest.mark.skipif(not LIBRARIES.exists(), reason="`make setup` installs the libraries of these programs")
@pytest.mark.parametrize("page", ["custom-loops", "reinforcement-learning"])
def test_the_programs_of_a_page_give_the_answers_that_it_shows(page: str, tmp_path: Path) -> None:
    """But for numbers that differ in each run."""
    tried = _TRIED.findall((ROOT / "docs" / "how-to" / f"{page}.md").read_text())
    assert tried
    for program, command, shown in tried:
        write(tmp_path, program, command.split()[-1])
        answer = twinrun(*words(command), cwd=tmp_path, env={"PYTHONPATH": str(LIBRARIES)})
        lines = [
            line for line in shown.splitlines() if line.lstrip().startswith(("diverges", "error[", "-->"))
        ]
        assert lines and set(lines) <= set(answer.out.splitlines()), answer.out + answer.err


def test_the_blocks_of_the_page_on_pipelines_run_one_after_the_other() -> None:
    page = ROOT / "docs" / "how-to" / "input-pipeline.md"
    answer = python(Path(__file__).parent / "pipeline_page.py", page)
    assert answer.code == 0, answer.err[-2000:]
    assert answer.out.count("\nran ") == page.read_text().count("```python\n")


def test_the_transcript_of_the_readme_quotes_the_example_as_it_is() -> None:
    text = (ROOT / "README.md").read_text()
    places = re.findall(r"--> (examples/\S+?):(\d+)", text)
    assert places
    for file, number in places:
        line = (ROOT / file).read_text().splitlines()[int(number) - 1].strip()
        assert f"{number} | {line}" in text
