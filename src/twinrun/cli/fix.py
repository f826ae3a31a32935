"""`twinrun fix`: the smallest patch, proved."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.errors import CannotWrite, UsageError

if TYPE_CHECKING:
    from twinrun.findings.fixes import Fix
    from twinrun.launch.program import Program

_CHECKED = (
    "runs",
    "contract",
    "sequential",
    "stress",
    "steps",
    "vary",
    "timeout",
    "folder",
    "ignore_output",
    "show_arguments",
)
_BUDGET = {"help": "Time for the whole search; what was found by then is printed.", "default": "10m"}


@click.command(cls=RunningVerb)
@shared(*_CHECKED, "seed", "write", "force", "interactive", "budget", "no_progress", "quiet", budget=_BUDGET)
@output_options(("text", "json"), to="output_file")
@program_arguments
@click.pass_context
def fix(ctx: click.Context, /, **given: Any) -> None:
    """Find the smallest patch that makes PROGRAM repeat, and prove it by running the twins with it.

    The patch goes to stdout, for git apply or patch -p1, and what was proved to stderr. For a notebook, the patch
    shows the changed cells. Files are changed only with --write. Exit codes: 0 the patched program repeats, 1 it still diverges, 2 could not judge.
    """
    from twinrun.cli.progress import screen
    from twinrun.findings.fixes.diff import patch_root, shows_cells
    from twinrun.fix.search import Search
    from twinrun.fix.trials import Trials
    from twinrun.render import json_text, note_cells, note_secrets, write
    from twinrun.render.fix_text import proved
    from twinrun.settings import check_options
    from twinrun.terminal import say

    started = time.monotonic()
    program = the_program(given["program"], given["module"])
    _must_be_possible(program, given)
    options = check_options(program, **{name: given[name] for name in _CHECKED})
    live = screen(quiet=given["quiet"] or given["no_progress"], lines=True)
    try:
        trials = Trials(options, live, seconds=given["budget"], seed=given["seed"])
        search = Search(trials)

        def ask(change: Fix) -> str:
            live.close()  # nothing may be drawn over the question
            return _ask(change)

        result = search.run(ask if given["interactive"] else None)
    finally:
        live.close()
    texts = trials.patch(search.units).texts
    refused: CannotWrite | None = None
    if given["write"] and texts:
        try:
            trials.files.write(texts, force=given["force"])
        except CannotWrite as problem:  # what was found is printed all the same
            refused = problem
    written = bool(given["write"] and texts) and refused is None
    result = result.replace(seconds=round(time.monotonic() - started, 3), written=written)
    if given["output_format"] == "json":
        write(json_text(result.as_json()), given["output_file"])
    else:
        patch = trials.files.patch(texts)
        note_secrets(patch)
        write(patch, given["output_file"])
        if texts and not written and (root := patch_root(texts)) != Path.cwd() and not shows_cells(patch):
            say(f"apply it in {root}")
        if not written:
            note_cells(patch)
        say(proved(result, quiet=given["quiet"]).rstrip("\n"))
    if refused is not None:
        raise refused
    ctx.exit(result.exit_code)


def _must_be_possible(program: Program, given: dict[str, Any]) -> None:
    """Better known now than when the patch is there."""
    from twinrun.fix.user_files import must_be_in_git

    if given["interactive"] and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--interactive needs a terminal", hint="leave it out, and read the patch instead")
    program.must_exist()
    if given["write"] and not given["force"] and not given["module"]:
        must_be_in_git(Path(program.target))


def _ask(change: Fix) -> str:
    from twinrun.findings.finding import spelled
    from twinrun.notebooks.places import place_in_text
    from twinrun.protocol import relative
    from twinrun.terminal import inline, say

    cell, line = place_in_text(change.source, change.line)
    place = spelled(relative(change.file), line, cell)
    say(f"\n{inline(place)}: {inline(change.note)}\n{change.changes()}")
    answer: str = click.prompt("take this change", type=click.Choice(["y", "n", "q"]), err=True)
    return answer
