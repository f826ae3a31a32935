"""Writes docs/reference/cli.md from what the verbs say of themselves: `python tools/write_cli.py`."""

from __future__ import annotations

from pathlib import Path

import click

from twinrun.cli import VERBS, page
from twinrun.cli.group import cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by tools/write_cli.py from the verbs' own --help. Change those, not this file. -->

Results go to stdout, progress and hints to stderr. Exit codes: 0 repeats, 1 diverges (or findings), 2 could
not judge. Settings come from flags, then from `TWINRUN_*` variables (`TWINRUN_STEPS=50`), then from
`[tool.twinrun]` in the nearest `pyproject.toml`. `NO_COLOR` and `FORCE_COLOR` are honoured.
"""


def main() -> None:
    parts = [HEAD, _block(page())]
    for verb in VERBS:
        parts += _pages(cli.get_command(click.Context(cli), verb), f"twinrun {verb}")
    PAGE.write_text("\n".join(parts))


def _pages(command: click.Command | None, name: str) -> list[str]:
    assert command is not None
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    pages = [f"## {name}\n", _block(command.get_help(context))]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            pages += _pages(command.get_command(context, inner), f"{name} {inner}")
    return pages


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    main()
