"""`%load_ext twinrun` and `%%twinrun`: a check of one cell, in fresh processes, from within a notebook."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from twinrun.cli.check import CHECKED, CONTRACT, check
from twinrun.cli.group import refusal, say_error
from twinrun.cli.options import RunningVerb, configuration, shared
from twinrun.diagnose.diagnosis import check_and_diagnose
from twinrun.errors import CannotWrite, TwinrunError, UsageError
from twinrun.interrupt import Interrupted
from twinrun.launch.check import run_check
from twinrun.launch.options import Screen
from twinrun.launch.program import Program
from twinrun.masking import each_text
from twinrun.notebooks import SUFFIX
from twinrun.result import CheckResult
from twinrun.settings import check_options
from twinrun.terminal import draw

_MAGIC = "%%twinrun"
_HERE = "this notebook"
_UNKNOWN = re.compile(r"NameError: name '(\w+)' is not defined")


@click.command(cls=RunningVerb)
@click.option("--earlier", is_flag=True, help="First run the cells that this kernel has run before.")
@shared(*CHECKED, "no_diagnose", "budget", contract=CONTRACT)
def options(**given: Any) -> None:
    """Run this cell in twin processes, compare every step, and report whether it repeats.

    The processes are fresh: they see none of this notebook's names and imports. With --earlier they first run the cells
    that this kernel has run before, except those that raised an error.
    """


class Extension:
    """What `%load_ext twinrun` adds to a shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._failed: set[int] = set()  # the numbers of cells that raised an error
        shell.events.register("post_run_cell", self._note)
        shell.register_magic_function(self.twinrun, "cell", "twinrun")

    def _note(self, result: Any) -> None:
        if result is not None and not result.success and result.execution_count is not None:
            self._failed.add(result.execution_count)

    def twinrun(self, line: str, cell: str) -> CheckResult | None:
        """The result is the value of the cell, and shown as such."""
        try:
            return self._checked(f"# {_MAGIC} {line}\n{cell}", **_given(line))
        except click.exceptions.Exit:  # --help
            return None
        except click.ClickException as problem:
            say_error(refusal(problem))
        except TwinrunError as problem:
            say_error(problem)
        return None

    def _checked(
        self, source: str, *, earlier: bool, no_diagnose: bool, budget: float, **given: Any
    ) -> CheckResult:
        history = [str(each) for each in self._shell.history_manager.input_hist_raw]
        before = history[1:-1] if _MAGIC in history[-1] else history[1:]
        cells = [*self._before(before, run=earlier), source]
        draw([f"checking cell {len(cells)} in fresh processes"])
        with notebook_of(cells) as file:
            wanted, screen = check_options(Program(file.name), **given), _Screen()
            try:
                result = (
                    run_check(wanted, screen) if no_diagnose else check_and_diagnose(wanted, screen, budget)
                )
            except Interrupted as stop:  # by the button of the notebook: what is known is shown
                if not stop.results:
                    raise
                result = stop.results[0][1]
        result = each_text(result, lambda text: text.replace(str(file), _HERE).replace(file.name, _HERE))
        failed = [str(number) for number in sorted(self._failed) if earlier and number < len(cells)]
        left_out = [f"not run, as they raised an error: cells {', '.join(failed)}"] if failed else []
        return result.replace(notes=(*result.notes, *left_out, *self._unknown_name(result, earlier)))

    def _before(self, cells: Iterable[str], *, run: bool) -> Iterator[str]:
        """In place of a cell that is not to run stands a comment, so that the others keep their numbers."""
        for number, source in enumerate(cells, start=1):
            runs = run and source.strip() and number not in self._failed
            yield source if runs and not source.lstrip().startswith(_MAGIC) else "# not run"

    def _unknown_name(self, result: CheckResult, earlier: bool) -> list[str]:
        found = _UNKNOWN.search(result.output_tail or "")
        if result.reason_kind != "crashed" or found is None or found[1] not in self._shell.user_ns:
            return []
        why = f"{found[1]} is a name of this notebook, and the cell ran in a fresh process that sees none of them"
        if earlier:
            return [f"{why}: it was set in a cell that is no longer there, or raised an error"]
        return [f"{why}: define it in the cell, or run the earlier cells first with {_MAGIC} --earlier"]


def _given(line: str) -> dict[str, Any]:
    try:
        words = shlex.split(line)
    except ValueError as problem:  # a quotation mark that is not closed
        raise UsageError(f"invalid options: {problem}", hint=f"see `{_MAGIC} --help`") from None
    known = {param.name for param in options.params}
    configured = {
        name: value for name, value in configuration("check", check.params).items() if name in known
    }
    return options.make_context(_MAGIC, words, default_map=configured).params


class _Screen(Screen):
    def known(self, result: CheckResult) -> None:
        draw([f"{result.verdict}{result.headline}", "looking for the cause"])


@contextmanager
def notebook_of(cells: Iterable[str]) -> Iterator[Path]:
    """A notebook of these cells, for as long as it is needed: in the working folder, where its files and modules are."""
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in cells]
    document = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    try:
        handle, name = tempfile.mkstemp(prefix=".twinrun-", suffix=SUFFIX, dir=Path.cwd(), text=True)
    except OSError as problem:
        raise CannotWrite(f"cannot write to {Path.cwd()}: {problem.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
