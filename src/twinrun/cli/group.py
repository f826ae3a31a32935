"""The verbs as one command, and how errors leave it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from twinrun import __version__
from twinrun.cli import VERBS, page
from twinrun.errors import TwinrunError


class Verbs(click.Group):
    """A group that knows its verbs by name and loads the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, attribute = VERBS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def get_help(self, ctx: click.Context) -> str:
        return page().rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TwinrunError as error:
            from twinrun.render.text import printable

            click.echo(f"error: {printable(str(error))}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:  # click would exit with 1, which here means that the twins diverge
            click.echo("interrupted", err=True)
            ctx.exit(130)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="twinrun")
def cli() -> None:
    """The verbs. What --help says is the page of twinrun.cli."""
