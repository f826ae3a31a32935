"""`twinrun explain CODE`: a page of the catalogue. Without a code, the list of them all."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from twinrun.cli.options import output_options
from twinrun.findings.catalogue import FAMILIES, Entry, all_entries, lookup, page

SCHEMA = "twinrun/explain/1"


@click.command()
@click.argument("code", required=False)
@output_options(("text", "json"), file=False)
def explain(code: str | None, output_format: str) -> None:
    """Explain a code of the catalogue: what it is, why it matters, an example, what to write instead.

    CODE is a code (TW203) or a name (random-op-in-parallel-map). Without one, all codes are listed.
    """
    from twinrun.protocol.registry import sources

    sources()  # registers the codes that come from other packages
    if output_format == "json":
        document = {"schema": SCHEMA, "codes": [_as_json(entry) for entry in _chosen(code)]}
        if code is not None:
            document["page"] = page(code)
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif code is None:
        click.echo(listing())
    else:
        _show(page(code))


def listing() -> str:
    """Every code with its name and sentence, by family."""
    lines: list[str] = []
    width = max(len(entry.name) for entry in all_entries())
    for family, title in FAMILIES.items():
        lines += ["", f"{family}  {title}"] if lines else [f"{family}  {title}"]
        for entry in all_entries():
            if entry.family_code == family:
                lines.append(f"  {entry.code}  {entry.name:<{width}}  {_plain(entry.listed_summary)}")
    return "\n".join([*lines, "", "`twinrun explain CODE` shows the page of one."])


def _chosen(code: str | None) -> tuple[Entry, ...]:
    return all_entries() if code is None else (lookup(code),)


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


def _show(markdown: str) -> None:
    """Drawn in a terminal; the Markdown itself when somebody reads it through a pipe or a file."""
    if not sys.stdout.isatty():
        click.echo(markdown.rstrip())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(markdown, hyperlinks=False), width=min(console.width, 100))
