"""`twinrun fix`: the smallest patch, proved."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twinrun.cli.options import RunningVerb, output_options, program_arguments, shared, the_program
from twinrun.errors import UsageError

if TYPE_CHECKING:
    from twinrun.findings.fixes import Fix

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
_BUDGET = {"help": "Time for the whole search; then what was found so far is printed.", "default": "10m"}


@click.command(cls=RunningVerb)
@shared(*_CHECKED, "seed", "write", "force", "interactive", "budget", "no_progress", "quiet", budget=_BUDGET)
@output_options(("text", "json"), to="output_file")
@program_arguments
@click.pass_context
def fix(ctx: click.Context, /, **given: Any) -> None:
    """Find the smallest patch that makes PROGRAM repeat, and prove it by running the twins with it.

    The patch goes to stdout, for git apply or patch -p1, and what was proved to stderr. Files are changed only with
    --write. Exit codes: 0 the patched program repeats, 1 it still diverges, 2 could not judge.
    """
    from twinrun.cli.progress import screen
    from twinrun.findings.fixes.diff import patch_root
    from twinrun.fix.search import Search
    from twinrun.fix.trials import Trials
    from twinrun.render import json_text, note_secrets, write
    from twinrun.render.fix_text import proved
    from twinrun.settings import check_options
    from twinrun.terminal import say

    if given["interactive"] and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--interactive needs a terminal", hint="leave it out, and read the patch instead")
    started = time.monotonic()
    program = the_program(given["program"], given["module"])
    options = check_options(program, **{name: given[name] for name in _CHECKED})
    live = screen(quiet=given["quiet"] or given["no_progress"])
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
    written = bool(given["write"] and texts)
    if written:
        trials.files.write(texts, force=given["force"])
    result = result.replace(seconds=round(time.monotonic() - started, 3), written=written)
    if given["output_format"] == "json":
        write(json_text(result.as_json()), given["output_file"])
    else:
        patch = trials.files.patch(texts)
        note_secrets(patch)
        write(patch, given["output_file"])
        if texts and not written and (root := patch_root(texts)) != Path.cwd():
            say(f"apply it in {root}")
        say(proved(result, quiet=given["quiet"]).rstrip("\n"))
    ctx.exit(result.exit_code)


def _ask(change: Fix) -> str:
    from twinrun.protocol import relative
    from twinrun.terminal import inline, say

    say(f"\n{inline(relative(change.file))}:{change.line}: {inline(change.note)}\n{change.changes()}")
    answer: str = click.prompt("take this change", type=click.Choice(["y", "n", "q"]), err=True)
    return answer
