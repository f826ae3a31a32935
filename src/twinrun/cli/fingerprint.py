"""`twinrun fingerprint`: the numeric fingerprint of this machine, and how another's compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource

from twinrun.cli.options import OUTPUT, TEXT_OR_JSON
from twinrun.counted import counted
from twinrun.errors import UsageError

if TYPE_CHECKING:
    from twinrun.environment.numeric_fingerprint import Agreement, Fingerprint


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--threads", default="", help="Thread counts to probe, such as 1,2,8.  [default: the one in use]"
)
@click.option(
    "--determinism/--no-determinism", default=True, show_default=True, help="Probe with op determinism."
)
@click.option("--all", "everything", is_flag=True, help="Show every probe, not only those that differ.")
@TEXT_OR_JSON
@OUTPUT
@click.pass_context
def fingerprint(
    ctx: click.Context,
    *,
    files: tuple[Path, ...],
    threads: str,
    determinism: bool,
    everything: bool,
    output_format: str,
    output_file: str | None,
    output: str | None,
) -> None:
    """Take this machine's numeric fingerprint, and compare it with FILES of other machines.

    Without a file, take it and print it, or write it to a file (-o), as JSON unless text is requested. With one
    file, take it and compare. With two, compare them. Exit code 1 if bits differ.
    """
    from twinrun.environment.numeric_fingerprint import compare, read_fingerprint
    from twinrun.environment.probing import take
    from twinrun.render import show
    from twinrun.terminal import say

    if len(files) > 2:
        raise UsageError("at most two fingerprints can be compared")
    given = [read_fingerprint(path) for path in files]
    file = output_file or output
    if len(given) < 2:
        here = take(_counts(threads), determinism=determinism)
        given.append(here)
    if len(given) == 1:
        if file and ctx.get_parameter_source("output_format") is ParameterSource.DEFAULT:
            output_format = "json"  # which this command reads
        show(output_format, here.as_json(), _described(here, everything), file)
        say(f"{counted(len(here.probes), 'probe')} in {here.seconds:.1f} s")
        return
    found = compare(*given)
    same = all(each.same for each in found)
    document = {
        "schema": "twinrun/fingerprint-diff/1",
        "same": same,
        "fingerprints": [one.digest for one in given],
        "keys": [one.environment.name for one in given],
        "agreements": msgspec.to_builtins(found),
    }
    show(output_format, document, _compared(given, found, everything), file)
    if not same:
        say("hint: record a baseline on each, or give it a contract with a tolerance")
    ctx.exit(0 if same else 1)


def _counts(threads: str) -> list[int]:
    counts = [part.strip() for part in threads.split(",") if part.strip()]
    if not all(count.isdecimal() and int(count) for count in counts):
        raise UsageError(
            f"--threads takes whole numbers of at least 1, not {threads!r}", hint="--threads 1,2,8"
        )
    return [int(count) for count in counts]


def _described(fingerprint: Fingerprint, everything: bool) -> Iterator[str]:
    yield f"{fingerprint.digest}  {fingerprint.environment.name}"
    for group, digest in fingerprint.groups().items():
        members = [probe for probe in fingerprint.probes if probe.group == group]
        yield f"  {digest}  {group} ({len(members)})"
        for probe in members if everything else ():
            answer = probe.digest or "did not run"
            yield f"    {answer:<16}  {probe.name}, {probe.device}, {counted(probe.threads, 'thread')}"
    for probe in fingerprint.probes:
        if probe.error:
            yield f"  did not run: {probe.name} on {probe.device}: {probe.error}"
        elif not probe.repeats:
            yield f"  does not repeat on this machine: {probe.name} on {probe.device}"


def _compared(given: list[Fingerprint], found: list[Agreement], everything: bool) -> Iterator[str]:
    for one in given:
        yield f"{one.digest}  {one.environment.name}"
    for group in dict.fromkeys(each.group for each in found):
        members = [each for each in found if each.group == group]
        yield ""
        yield f"{group}: {sum(each.same for each in members)} of {len(members)} are bit-identical"
        for each in members:
            if everything or not each.same:
                yield f"  {each.probe:<42} {_outcome(each)}"
    yield ""
    yield _conclusion(found)


def _conclusion(found: list[Agreement]) -> str:
    """Will a baseline of one machine hold on the other?"""
    apart = [each for each in found if not each.same]
    if not apart:
        agree = f"all {len(found)} operations are" if len(found) != 1 else "1 operation is"
        return f"{agree} bit-identical: a bitwise baseline can be expected to hold on both"
    distances = [each.max_ulp for each in apart if each.max_ulp is not None]
    worst = f", by up to {max(distances)} ULPs" if distances else ""
    differ = (
        f"{len(apart)} of {counted(len(found), 'operation')} {'differs' if len(apart) == 1 else 'differ'}"
    )
    return f"{differ}{worst}: do not expect a bitwise baseline to hold on both"


def _outcome(each: Agreement) -> str:
    """One probe's comparison for a reader."""
    if each.same:
        return "same bits"
    if each.max_ulp is None:
        return each.reason or "other values"
    if each.max_ulp == 0:
        return "differs, though not in the values that were kept"
    return f"up to {counted(each.max_ulp, 'ULP')} apart, {each.differing or 0:.0%} of the values"
