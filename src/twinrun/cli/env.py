"""`twinrun env`: show this machine's environment, compare two, write a lock, check against one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from twinrun.cli.options import OUTPUT, TEXT_OR_JSON, Decorator, OneOf, Verbs, all_of, shared

if TYPE_CHECKING:
    from twinrun.environment.difference import Difference
    from twinrun.environment.environment import Environment

NO_FRAMEWORK = click.option(
    "--no-framework", is_flag=True, help="Do not load the installed framework; packages are read by name."
)

_LOCK_FILE = "Where to write it; `-` is stdout.  [default: twinrun.lock, or twinrun.lock.requirements.txt]"


def _reading(everything: str = "Also show what should not matter.") -> Decorator:
    """The options of a verb that shows an environment."""
    wide = click.option("--all", "everything", is_flag=True, help=everything)
    return all_of(NO_FRAMEWORK, wide, TEXT_OR_JSON)


@click.group(cls=Verbs)
def env() -> None:
    """Show this environment, compare it with others, and write a file to rebuild it."""


@env.command()
@click.argument("where", default="here")
@_reading("Show every field, including all packages.")
def show(
    where: str, no_framework: bool, everything: bool, output_format: str, output_file: str | None
) -> None:
    """Show the environment of this machine, or of WHERE: a recording or a JSON file."""
    from twinrun import render

    environment = _find(where, no_framework)
    document = {"schema": "twinrun/env/1", "environment": environment.as_json()}
    render.show(output_format, document, _described(environment, everything), output_file)


@env.command()
@click.argument("a")
@click.argument("b", default="here")
@_reading()
@click.pass_context
def diff(ctx: click.Context, /, a: str, b: str, *, no_framework: bool, **shown: Any) -> None:
    """Compare two environments: recordings, JSON files, or `here` for this machine. Exit code 1
    if bits can differ."""
    from twinrun.environment.difference import comparable_bitwise, differences

    left, right = _find(a, no_framework), _find(b, no_framework)
    comparable = comparable_bitwise(left, right)
    outcome = "equal bits may be expected" if comparable else "equal bits cannot be expected"
    document = {"schema": "twinrun/env-diff/1", "comparable_bitwise": comparable}
    _show_differences({"a": left.name, "b": right.name}, differences(left, right), outcome, document, **shown)
    ctx.exit(0 if comparable else 1)


@env.command()
@shared("output_file", output_file={"help": _LOCK_FILE})
@OUTPUT
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
    type=OneOf(["lock", "requirements"]),
    help="The lock itself, or pinned requirements for pip.",
)
@click.option(
    "--hashes", is_flag=True, help="Ask pip for the hashes of the archives. Needs an index; installs nothing."
)
@click.option("--loaded", is_flag=True, help="Only the packages the program imported.")
@NO_FRAMEWORK
def lock(
    *,
    output_file: str | None,
    output: str | None,
    source: str,
    form: str,
    hashes: bool,
    loaded: bool,
    no_framework: bool,
) -> None:
    """Write the versions, variables and thread settings to rebuild this environment."""
    from twinrun.environment.locate import HERE, file_of
    from twinrun.environment.lock import lock_of, read_lock, requirements, target_of, write_lock
    from twinrun.environment.lock_hashes import with_hashes
    from twinrun.terminal import inline, say, write

    file = output_file or output
    target = None if file == "-" else target_of(file, form, file_of(source))
    if _is_lock(source):
        locked = read_lock(Path(source))
    else:
        locked = lock_of(_find(source, no_framework), loaded_only=loaded)
    if hashes:
        locked = with_hashes(locked, ours=source in HERE)
    if target is None:
        write(locked.text() if form == "lock" else requirements(locked))
    else:
        write_lock(locked, form, target)
        say(f"wrote {inline(str(target))}")
    if not locked.complete:
        say(f"hint: hashes {inline(locked.hashes)}")
    for note in locked.notes:
        say(f"note: {inline(note)}")


@env.command()
@click.argument("lock_file", type=click.Path(path_type=Path), default="twinrun.lock")
@_reading()
@click.pass_context
def check(ctx: click.Context, /, lock_file: Path, *, no_framework: bool, **shown: Any) -> None:
    """Report what no longer matches LOCK_FILE. Exit code 1 if it can change results."""
    from twinrun.environment.difference import NOTHING
    from twinrun.environment.lock import read_lock
    from twinrun.environment.lock_check import mismatches

    locked = read_lock(lock_file)
    environment = _find("here", no_framework)
    found = mismatches(locked, environment, os.environ)
    matches = all(each.group == NOTHING for each in found)
    outcome = "this machine matches the lock" if matches else "this machine does not match the lock"
    document = {"schema": "twinrun/env-check/1", "matches": matches}
    _show_differences({"lock": locked.key.name, "here": environment.name}, found, outcome, document, **shown)
    ctx.exit(0 if matches else 1)


def _find(where: str, no_framework: bool) -> Environment:
    from twinrun.environment.locate import environment_of

    return environment_of(where, framework=not no_framework)


def _is_lock(source: str) -> bool:
    """A lock is known by its schema; anything else is left to the finder and its errors."""
    from twinrun import untrusted

    try:
        document = untrusted.read_json(Path(source))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("schema")).startswith("twinrun/lock/")


def _show_differences(
    sides: dict[str, str],
    found: list[Difference],
    outcome: str,
    document: dict[str, Any],
    *,
    everything: bool,
    output_format: str,
    output_file: str | None,
) -> None:
    """`sides` are the names of both keys by what to call them."""
    from twinrun import render
    from twinrun.environment.difference import NOTHING
    from twinrun.terminal import say

    document |= {"keys": list(sides.values()), "differences": msgspec.to_builtins(found, enc_hook=str)}
    shown = [each for each in found if everything or each.group != NOTHING]
    names = [f"{side}: {name}" for side, name in sides.items()]
    render.show(output_format, document, [*names, *_groups(shown), outcome], output_file)
    if len(shown) < len(found) and output_format == "text":
        say(f"{len(found) - len(shown)} that should not matter: --all shows them")


def _groups(differences: list[Difference]) -> Iterator[str]:
    for group in dict.fromkeys(each.group for each in differences):
        yield from ("", f"{group}:")
        yield from (f"  {each.code} {each.sentence}" for each in differences if each.group == group)
    yield from [""] if differences else ["", "no difference"]


def _described(environment: Environment, everything: bool) -> Iterator[str]:
    from twinrun.environment.difference import readable

    yield from (environment.name, "", "key (what may change bits):")
    yield from _fields({name: readable(value) for name, value in environment.key.items()})
    for group, fields in environment.facts.items():
        if group == "packages" and not everything:
            installed, loaded = fields.get("installed", {}), fields.get("loaded", {})
            yield from ("", "packages:")
            yield f"  {len(installed)} installed, {len(loaded)} imported (--all names them)"
        elif fields:
            yield from ("", f"{group}:")
            yield from _fields(fields)
    if environment.unread:
        yield ""
        yield f"could not be read: {', '.join(readable(name) for name in environment.unread)}"


def _fields(fields: dict[str, Any], indent: str = "  ") -> Iterator[str]:
    from twinrun.environment.difference import readable

    for name, value in fields.items():
        if isinstance(value, dict) and value:
            yield f"{indent}{readable(name)}:"
            yield from _fields(value, indent + "  ")
        else:
            shown = readable("none" if value in ({}, [], "", None) else value)
            yield f"{indent}{readable(name):<20} {shown}"
