"""`twinrun env`: show this machine's environment, compare two, write a lock, check against one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from twinrun.environment.difference import Difference
    from twinrun.environment.environment import Environment

FORMAT = click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
NO_FRAMEWORK = click.option(
    "--no-framework", is_flag=True, help="Do not load the installed framework; packages are read by name."
)


@click.group()
def env() -> None:
    """The environment: what is here, what differs elsewhere, and a file to rebuild it."""


@env.command()
@click.argument("where", default="here")
@NO_FRAMEWORK
@click.option("--all", "everything", is_flag=True, help="Every field, all packages included.")
@FORMAT
def show(where: str, no_framework: bool, everything: bool, output_format: str) -> None:
    """Show the environment of this machine, or of WHERE: a recording or a JSON file."""
    environment = _find(where, no_framework)
    if output_format == "json":
        click.echo(json.dumps({"schema": "twinrun/env/1", "environment": environment.as_json()}, indent=1))
        return
    for line in _described(environment, everything):
        click.echo(line)


@env.command()
@click.argument("a")
@click.argument("b", default="here")
@NO_FRAMEWORK
@click.option("--all", "everything", is_flag=True, help="Also what should not matter.")
@FORMAT
def diff(a: str, b: str, no_framework: bool, everything: bool, output_format: str) -> None:
    """Compare two environments: recordings, JSON files, or `here` for this machine. Exit 1 when bits can
    differ."""
    from twinrun.environment.difference import NOTHING, comparable_bitwise, differences

    left, right = _find(a, no_framework), _find(b, no_framework)
    found = differences(left, right)
    comparable = comparable_bitwise(left, right)
    if output_format == "json":
        document = {
            "schema": "twinrun/env-diff/1",
            "comparable_bitwise": comparable,
            "keys": [left.name, right.name],
            "differences": [each.as_json() for each in found],
        }
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(f"a: {left.name}\nb: {right.name}")
        shown = [each for each in found if everything or each.group != NOTHING]
        _print_groups(shown)
        hidden = len(found) - len(shown)
        if hidden:
            click.echo(f"{hidden} that should not matter: --all shows them", err=True)
        click.echo("equal bits may be expected" if comparable else "equal bits cannot be expected")
    click.get_current_context().exit(0 if comparable else 1)


@env.command()
@click.option(
    "-o", "--output", default="twinrun.lock", show_default=True, help="Where to write it; `-` is stdout."
)
@click.option(
    "--from",
    "source",
    default="here",
    help="A recording, an environment's JSON file, or a lock to render again.",
)
@click.option(
    "--format",
    "form",
    default="lock",
    show_default=True,
    type=click.Choice(["lock", "requirements", "env", "dockerfile", "conda", "all"]),
)
@click.option(
    "--hashes", is_flag=True, help="Ask pip for the hashes of the archives. Needs an index; installs nothing."
)
@click.option("--loaded", is_flag=True, help="Only the packages the program imported.")
@NO_FRAMEWORK
def lock(*, output: str, source: str, form: str, hashes: bool, loaded: bool, no_framework: bool) -> None:
    """Write the versions, variables and thread settings to rebuild this environment."""
    from twinrun.environment.lock import lock_of, read_lock, with_hashes
    from twinrun.environment.lock_render import render, write
    from twinrun.errors import UsageError

    locked = (
        read_lock(Path(source))
        if _is_lock(source)
        else lock_of(_find(source, no_framework), loaded_only=loaded)
    )
    if hashes:
        locked = with_hashes(locked)
    if output == "-":
        if form == "all":
            raise UsageError("several files do not fit on stdout", hint="give -o FILE, or one --format")
        click.echo(render(locked, form), nl=False)
    else:
        for path in write(locked, form, Path(output)):
            click.echo(f"wrote {path}")
    if form != "env" and not locked.complete:
        click.echo(f"hint: hashes {locked.hashes}", err=True)
    for note in locked.notes:
        click.echo(f"note: {note}", err=True)


@env.command()
@click.argument("lock_file", type=click.Path(path_type=Path), default="twinrun.lock")
@NO_FRAMEWORK
@click.option("--all", "everything", is_flag=True, help="Also what should not matter.")
@FORMAT
def check(lock_file: Path, no_framework: bool, everything: bool, output_format: str) -> None:
    """Say what no longer matches LOCK_FILE. Exit 1 when something that can change results does not."""
    from twinrun.environment.difference import NOTHING
    from twinrun.environment.lock import read_lock
    from twinrun.environment.lock_check import mismatches

    locked = read_lock(lock_file)
    environment = _find("here", no_framework)
    found = mismatches(locked, environment, os.environ)
    serious = [each for each in found if each.group != NOTHING]
    if output_format == "json":
        document = {
            "schema": "twinrun/env-check/1",
            "matches": not serious,
            "keys": [locked.key.name, environment.name],
            "differences": [each.as_json() for each in found],
        }
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(f"lock: {locked.key.name}\nhere: {environment.name}")
        _print_groups(found if everything else serious)
        hidden = len(found) - len(serious)
        if hidden and not everything:
            click.echo(f"{hidden} that should not matter: --all shows them", err=True)
        click.echo("this machine matches the lock" if not serious else "this machine does not match the lock")
    click.get_current_context().exit(1 if serious else 0)


def _find(where: str, no_framework: bool) -> Environment:
    from twinrun.environment.locate import HERE, environment_of, this_machine

    return this_machine(framework=not no_framework) if where in HERE else environment_of(where)


def _is_lock(source: str) -> bool:
    """A lock says so itself; anything else is left to the finder and its errors."""
    path = Path(source)
    try:
        return path.is_file() and str(json.loads(path.read_text()).get("schema", "")).startswith(
            "twinrun/lock/"
        )
    except (OSError, ValueError, AttributeError):
        return False


def _print_groups(found: list[Difference]) -> None:
    group = ""
    for each in found:
        if each.group != group:
            group = each.group
            click.echo(f"\n{group}:")
        click.echo(f"  {each.code} {each.sentence}")
    click.echo("" if found else "\nno difference")


def _described(environment: Environment, everything: bool) -> list[str]:
    from twinrun.environment.difference import shown

    lines = [environment.name, "", "key (what may change bits):"]
    lines += [f"  {name:<20} {shown(value)}" for name, value in environment.key.facts.items()]
    for group, fields in environment.facts.items():
        if group == "packages" and not everything:
            installed, loaded = fields.get("installed", {}), fields.get("loaded", {})
            lines += [
                "",
                "packages:",
                f"  {len(installed)} installed, {len(loaded)} imported (--all names them)",
            ]
            continue
        if fields:
            lines += ["", f"{group}:", *_fields(fields)]
    if environment.unread:
        lines += ["", f"could not be read: {', '.join(shown(name) for name in environment.unread)}"]
    return lines


def _fields(fields: dict[str, Any], indent: str = "  ") -> list[str]:
    from twinrun.environment.difference import shown

    lines = []
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{shown(name)}:", *_fields(value, indent + "  ")]
        else:
            lines.append(
                f"{indent}{shown(name):<20} {shown('none' if value in ({}, [], '', None) else value)}"
            )
    return lines
