"""`twinrun doctor`: every control as read back, who set it, what it protects, what is missing, how to set it."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from twinrun.cli.options import TEXT_OR_JSON, RunningVerb, program_arguments, shared, the_program
from twinrun.settings import pin_request

if TYPE_CHECKING:
    from twinrun.launch.doctor import Examination
    from twinrun.protocol.control import ControlState
    from twinrun.twin.patch_table import Row

_WIDTH = 110


@click.command(cls=RunningVerb)
@shared(
    "patches",
    "pin",
    "timeout",
    "verbose",
    pin={"help": "Examine the process as this would pin it."},
    verbose={"help": "Also show what each control protects and how to set it, and the controls not in use."},
)
@TEXT_OR_JSON
@program_arguments
@click.pass_context
def doctor(
    ctx: click.Context, /, program: tuple[str, ...], module: str | None, output_format: str, **given: Any
) -> None:
    """Show what is pinned, as read back from the process itself.

    With a PROGRAM: in its own process, after its imports, its own settings and its first training step.
    Without: in a bare process of this machine. Exit code 2 if --pin=strict requests what is not there.
    """
    from twinrun.launch.doctor import examine_machine, examine_patches, examine_program
    from twinrun.render import show

    if given["patches"]:
        rows = examine_patches()
        document = {"schema": "twinrun/patches/1", "patches": msgspec.to_builtins(rows)}
        show(output_format, document, patches_as_text(rows), given["output_file"])
        return
    request = pin_request(given["pin"])
    if program or module:
        found = examine_program(the_program(program, module), request, given["timeout"])
    else:
        found = examine_machine(request)
    show(output_format, found.as_json(), as_text(found, verbose=given["verbose"]), given["output_file"])
    ctx.exit(found.exit_code)


def patches_as_text(rows: list[Row]) -> Iterator[str]:
    """The patch table: points of one owner together, and those for the same reason under it."""
    for owner, of_owner in groupby(rows, lambda row: row.owner):
        yield owner
        for why, together in groupby(of_owner, _purpose):
            yield from textwrap.wrap(why, _WIDTH, initial_indent="  ", subsequent_indent="  ")
            for row in together:
                status = "not in this release" if row.optional and row.status == "missing" else row.status
                missing = f": {row.why}" if row.status == "missing" and not row.optional else ""
                yield f"    {row.place} {status}{missing}"
        yield ""
    found = sum(row.status == "installed" for row in rows)
    missing_points = sum(row.status == "missing" and not row.optional for row in rows)
    yield f"{found} points are installed, {missing_points} are missing"


def _purpose(row: Row) -> str:
    return f"{row.reason} (for: {', '.join(row.needed_for)}; tested with {row.tested_on})"


def as_text(found: Examination, *, verbose: bool = False) -> Iterator[str]:
    """The summary, and a line for each control in use; `verbose`: everything about all of them."""
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    yield f"{found.subject}{f' ({versions})' if versions else ''}"
    yield _summary(found)
    yield from (f"note: {note}" for note in found.notes)
    for name, entry in found.controls.items():
        if verbose:
            yield ""
            yield from _control(name, entry)
        elif entry.used:
            yield f"{_mark(entry)}  {name:<22} {plain(entry.state)}, set by {_who(entry)}"
    if not verbose:
        yield ""
        yield "-v shows what each protects, and how to set it"


def _control(name: str, entry: ControlState) -> Iterator[str]:
    yield f"{_mark(entry)}  {name:<22} {plain(entry.state)}"
    yield from _labelled("set by", _who(entry))
    yield from _labelled("protects", entry.protects)
    if not entry.ok:
        yield from _labelled("missing", entry.why_not or "it is not as requested")
        yield from _labelled("set it", f"{entry.how}; {entry.moment}")
    elif entry.changed:
        yield from _labelled("changed", f"the program set it itself; {plain(entry.requested)} was requested")


def _mark(entry: ControlState) -> str:
    return "  " if not entry.used else "ok" if entry.ok else "--"


def _who(entry: ControlState) -> str:
    who = {"default": "nobody", "environment": "the environment", "program": "the program"}
    place = f", {_short(entry.place)}" if entry.place else ""
    return f"{who.get(entry.set_by, entry.set_by)}{place}"


def _short(place: str) -> str:
    return place.removeprefix(f"{Path.cwd()}{os.sep}")


def _labelled(label: str, text: str) -> Iterator[str]:
    head = f"      {label:<9} "
    yield from textwrap.wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def plain(state: Any) -> str:
    """A state in words: `seed 7, drawn 12`."""
    if isinstance(state, Mapping):
        return ", ".join(f"{key} {plain(value)}" for key, value in state.items())
    if isinstance(state, (list, tuple)):
        return " ".join(plain(value) for value in state) or "none"
    return str(state)


def _summary(found: Examination) -> str:
    used = [name for name, entry in found.controls.items() if entry.used]
    if not found.missing:
        return f"all {len(used)} controls in use here hold"
    holding = f"{len(used) - len(found.missing)} of {len(used)} controls in use here hold"
    remedy = "" if found.request is not None else "; --pin sets them from outside, the program unchanged"
    return f"{holding}; missing: {', '.join(found.missing)}{remedy}"
