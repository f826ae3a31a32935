"""The verbs as one command, and how errors leave it."""

from __future__ import annotations

import contextlib
import io
from importlib import import_module
from typing import Any

import click

from twinrun import __version__
from twinrun.cli import COULD_NOT_JUDGE, VERBS, page
from twinrun.errors import TwinrunError
from twinrun.interrupt import Interrupted, pending
from twinrun.masking import mask
from twinrun.terminal import inline, say

_LONGEST = 1000  # line of an error, which may quote a file


class Verbs(click.Group):
    """A group that knows its verbs by name and loads the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"twinrun.cli.{cmd_name}"), cmd_name)
        return command

    def get_help(self, ctx: click.Context) -> str:
        return page().rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TwinrunError as error:
            say("error: " + "\n".join(_short(inline(mask(line))) for line in error.lines))
            ctx.exit(COULD_NOT_JUDGE)
        except KeyboardInterrupt as stop:
            with contextlib.suppress(OSError):  # of a terminal that is gone
                say("interrupted")
            ctx.exit(Interrupted.of(stop).exit_code)
        except BrokenPipeError:  # whoever read our output has gone
            interrupted = pending()
            ctx.exit(COULD_NOT_JUDGE if interrupted is None else interrupted.exit_code)


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="twinrun")
def cli() -> None:
    """The verbs. --help prints the page of twinrun.cli."""


def run() -> int:
    """Run the verb that the command line names. Left to itself, click would end with 1 where it was interrupted."""
    try:
        code = cli.main(prog_name="twinrun", standalone_mode=False)
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):  # no prompt of ours: something broke
            raise abort.__cause__ from None
        return Interrupted.of(abort.__cause__).exit_code
    except click.ClickException as refusal:
        message = io.StringIO()
        refusal.show(message)
        say(mask(message.getvalue().rstrip("\n")))
        return COULD_NOT_JUDGE
    return code if isinstance(code, int) else 0
