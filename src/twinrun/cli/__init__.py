"""The command line. Each verb lives in its own file and is imported only when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from twinrun import __version__
from twinrun.errors import TwinrunError

# verb: (module and attribute, one line for --help). Listing the verbs imports none of them.
VERBS: dict[str, tuple[str, str]] = {
    "check": ("twinrun.cli.check:check", "Run a program in twin processes and say whether it repeats."),
    "run": ("twinrun.cli.run:run", "Run a program once and keep a recording."),
    "diff": ("twinrun.cli.diff:diff", "Compare two recordings."),
    "audit": ("twinrun.cli.audit:audit", "Say what in a program keeps it from repeating, before anything is trained."),
    "report": ("twinrun.cli.report:report", "Render a saved result: HTML, JSON, SARIF, JUnit, GitHub annotations."),
    "env": ("twinrun.cli.env:env", "Show the environment, compare two, write or check a lock."),
    "baseline": ("twinrun.cli.baseline:baseline", "Record a run for this environment, and compare with it in CI."),
    "fingerprint": ("twinrun.cli.fingerprint:fingerprint", "Take this machine's numeric fingerprint, and compare."),
    "explain": ("twinrun.cli.explain:explain", "Explain a code: what it is, why it matters, what to write instead."),
    "doctor": ("twinrun.cli.doctor:doctor", "Show what is pinned, as read back, and what is not."),
    "cost": ("twinrun.cli.cost:cost", "Measure what each control costs a program."),
}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])

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
    """Run a training program in twin processes, say whether it repeats, and name the cause when it does not.

    Exit codes: 0 repeats, 1 diverges (or findings), 2 could not judge.
    """


def main() -> None:
    """The console entry point."""
    try:
        cli.main(prog_name="twinrun")
    except KeyboardInterrupt:  # pragma: no cover - click turns Ctrl-C into Abort before this
        sys.exit(130)
