"""`twinrun explain CODE`: a page of the catalogue. Without a code, the list of them all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

from twinrun.cli.options import TEXT_OR_JSON
from twinrun.findings.catalogue import FAMILIES, Entry, all_entries, lookup, page
from twinrun.terminal import write


def _codes(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(entry.code, help=entry.name)
        for entry in all_entries()
        if entry.code.startswith(incomplete.upper())
    ]


@click.command()
@click.argument("code", required=False, shell_complete=_codes)
@TEXT_OR_JSON
def explain(code: str | None, output_format: str, output_file: str | None) -> None:
    """Explain a code of the catalogue: what it is, why it matters, an example, what to write instead.

    CODE is a code (TW203) or a name (random-op-in-parallel-map). Without one, all codes are listed.
    """
    from twinrun import render
    from twinrun.protocol.registry import sources

    sources()  # registers the codes that come from other packages
    document: dict[str, Any] = {
        "schema": "twinrun/explain/1",
        "codes": [_as_json(entry) for entry in (all_entries() if code is None else (lookup(code),))],
    }
    if code is not None:
        document["page"] = page(code)
    if code is None or output_format == "json":
        render.show(output_format, document, listing(), output_file)
    elif output_file is not None:
        render.write(page(code).rstrip() + "\n", output_file)
    else:
        _draw(page(code))


def listing() -> Iterator[str]:
    """Every code with its name and sentence, by family."""
    width = max(len(entry.name) for entry in all_entries())
    for family, title in FAMILIES.items():
        yield f"{family}  {title}"
        for entry in all_entries():
            if entry.family_code == family:
                yield f"  {entry.code}  {entry.name:<{width}}  {_plain(entry.listed_summary)}"
        yield ""
    yield "`twinrun explain CODE` shows the page of one."


def _as_json(entry: Entry) -> dict[str, Any]:
    return {
        "code": entry.code,
        "name": entry.name,
        "family": entry.family,
        "summary": _plain(entry.summary),
        "advice": entry.advice,
        "emitted": entry.emitted,
    }


def _plain(text: str) -> str:
    return text.replace("`", "")


def _draw(markdown: str) -> None:
    """Drawn in a terminal; the Markdown itself when somebody reads it through a pipe or a file."""
    if not sys.stdout.isatty():
        write(markdown.rstrip() + "\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(markdown, hyperlinks=False), width=min(console.width, 100))
