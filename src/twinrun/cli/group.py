"""The verbs as one command, and how errors leave it."""

from __future__ import annotations

import contextlib
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from twinrun import __version__
from twinrun.cli import COULD_NOT_JUDGE, VERBS, page
from twinrun.cli.options import Verbs, did_you_mean, refused
from twinrun.errors import TwinrunError, UsageError
from twinrun.interrupt import Interrupted, pending
from twinrun.masking import mask
from twinrun.terminal import inline, say

_LONGEST = 1000  # line of an error, which may quote a file


class TopVerbs(Verbs):
    """The verbs are known by name, and the one that is used is loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"twinrun.cli.{cmd_name}"), cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without loading them."""
        return [
            CompletionItem(verb, help=line) for verb, line in VERBS.items() if verb.startswith(incomplete)
        ]

    def get_help(self, ctx: click.Context) -> str:
        return page().rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TwinrunError as error:
            say_error(error)
            ctx.exit(COULD_NOT_JUDGE)
        except KeyboardInterrupt as stop:
            with contextlib.suppress(OSError):  # of a terminal that is gone
                say("interrupted")
            ctx.exit(Interrupted.of(stop).exit_code)
        except BrokenPipeError:  # whoever read our output has gone
            interrupted = pending()
            ctx.exit(COULD_NOT_JUDGE if interrupted is None else interrupted.exit_code)
        except click.exceptions.Exit:
            raise
        except Exception:  # an interruption in the middle of an import may come out as another error
            interrupted = pending()
            if interrupted is None:
                raise
            say("interrupted")
            ctx.exit(interrupted.exit_code)


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def say_error(error: TwinrunError) -> None:
    say("error: " + "\n".join(_short(inline(mask(line))) for line in error.lines))


def refusal(problem: click.ClickException) -> UsageError:
    """What click refuses, in the form of all our errors."""
    path = problem.ctx.command_path if isinstance(problem, click.UsageError) and problem.ctx else "twinrun"
    if isinstance(problem, click.NoSuchOption):
        near = get_close_matches(problem.option_name, problem.possibilities or (), n=1)
        hint = did_you_mean(near, f"{path} --help")
        return UsageError(f"unknown option {problem.option_name}", hint=hint)
    return UsageError(refused(problem), hint=f"see `{path} --help`")


@click.group(cls=TopVerbs, context_settings={"help_option_names": ["-h", "--help"]})
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
    except click.ClickException as problem:
        say_error(refusal(problem))
        return COULD_NOT_JUDGE
    return code if isinstance(code, int) else 0
