"""Writes docs/reference/cli.md from what the verbs say of themselves: `python tools/write_cli.py`."""

from __future__ import annotations

from pathlib import Path

import click

from twinrun.cli import VERBS
from twinrun.cli import page as verbs_page
from twinrun.cli.group import cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by tools/write_cli.py from the verbs' own --help. Change those, not this file. -->

Results go to stdout, progress and hints to stderr. Exit codes: 0 repeats, 1 diverges (or findings), 2 could
not judge. Settings come from flags, then from `TWINRUN_*` variables (`TWINRUN_STEPS=50`), then from
`[tool.twinrun]` in the nearest `pyproject.toml`. `NO_COLOR` and `FORCE_COLOR` are honoured.
"""


def page() -> str:
    parts = [HEAD, _block(verbs_page())]
    context = _context(cli, "twinrun")
    for verb in VERBS:
        parts += _pages(cli.get_command(context, verb), verb, context)
    return "\n".join(parts)


def _pages(command: click.Command | None, name: str, parent: click.Context) -> list[str]:
    assert command is not None
    context = _context(command, name, parent)
    pages = [f"## {context.command_path}\n", _block(command.get_help(context))]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            pages += _pages(command.get_command(context, inner), inner, context)
    return pages


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return command.context_class(
        command, parent, name, max_content_width=100, terminal_width=100, **command.context_settings
    )


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
