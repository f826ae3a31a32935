"""`twinrun fingerprint`: the numeric fingerprint of this machine, and how another's compares."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from twinrun.environment.numeric_fingerprint import Agreement, Fingerprint


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Keep this machine's fingerprint in a file."
)
@click.option(
    "--threads", default="", help="Thread counts to probe, such as 1,2,8; the one in use by default."
)
@click.option(
    "--determinism/--no-determinism", default=True, show_default=True, help="Probe with op determinism."
)
@click.option("--all", "everything", is_flag=True, help="Every probe, not only those that differ.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def fingerprint(
    ctx: click.Context,
    *,
    files: tuple[Path, ...],
    output: Path | None,
    threads: str,
    determinism: bool,
    everything: bool,
    output_format: str,
) -> None:
    """Take this machine's numeric fingerprint, and compare it with FILES of other machines.

    No file: take it and print it. One file: take it and compare. Two files: compare them. Exit 1 when bits
    differ.
    """
    from twinrun.environment.environment import write_whole
    from twinrun.environment.numeric_fingerprint import compare, read_fingerprint
    from twinrun.environment.probing import take
    from twinrun.errors import UsageError

    if len(files) > 2:
        raise UsageError("at most two fingerprints can be compared")
    given = [read_fingerprint(path) for path in files]
    if len(given) < 2:
        here = take(_counts(threads), determinism=determinism)
        if output is not None:
            write_whole(output, json.dumps(here.as_json(), indent=1) + "\n")
            click.echo(f"wrote {output}", err=True)
        given.append(here)
    if len(given) == 1:
        _show(given[0], output_format, everything)
        return
    found = compare(*given)
    _show_agreements(given, found, output_format, everything)
    ctx.exit(0 if all(each.same for each in found) else 1)


def _counts(threads: str) -> list[int]:
    from twinrun.errors import UsageError

    try:
        counts = [int(part) for part in threads.split(",") if part.strip()]
    except ValueError:
        counts = [0]
    if any(count < 1 for count in counts):
        raise UsageError(
            f"--threads takes whole numbers of at least 1, not {threads!r}", hint="--threads 1,2,8"
        )
    return counts


def _show(fingerprint: Fingerprint, output_format: str, everything: bool) -> None:
    if output_format == "json":
        click.echo(json.dumps(fingerprint.as_json(), indent=1))
        return
    click.echo(f"{fingerprint.digest}  {fingerprint.environment.name}")
    for group, digest in fingerprint.groups().items():
        members = [probe for probe in fingerprint.probes if probe.group == group]
        click.echo(f"  {digest}  {group} ({len(members)})")
        for probe in members if everything else ():
            answer = probe.digest or "did not run"
            click.echo(f"    {answer:<16}  {probe.name}, {probe.device}, {probe.threads} threads")
    for probe in fingerprint.probes:
        if probe.error:
            click.echo(f"  did not run: {probe.name} on {probe.device}: {probe.error}")
        elif not probe.repeats:
            click.echo(f"  does not repeat on this machine: {probe.name} on {probe.device}")
    click.echo(f"{len(fingerprint.probes)} probes in {fingerprint.seconds:.1f} s", err=True)


def _show_agreements(
    given: list[Fingerprint], found: list[Agreement], output_format: str, everything: bool
) -> None:
    same = sum(each.same for each in found)
    if output_format == "json":
        document = {
            "schema": "twinrun/fingerprint-diff/1",
            "same": same == len(found),
            "fingerprints": [one.digest for one in given],
            "keys": [one.environment.name for one in given],
            "agreements": [asdict(each) for each in found],
        }
        click.echo(json.dumps(document, indent=1))
        return
    for one in given:
        click.echo(f"{one.digest}  {one.environment.name}")
    for group in dict.fromkeys(each.group for each in found):
        members = [each for each in found if each.group == group]
        equal = sum(each.same for each in members)
        click.echo(f"\n{group}: {equal} of {len(members)} agree in bits")
        for each in members:
            if everything or not each.same:
                click.echo(f"  {each.probe:<42} {_outcome(each)}")
    click.echo("")
    click.echo(_conclusion(found))
    if same != len(found):
        click.echo("hint: record a baseline on each, or give it a contract with a tolerance", err=True)


def _conclusion(found: list[Agreement]) -> str:
    """Will a baseline of one machine hold on the other?"""
    apart = [each for each in found if not each.same]
    if not apart:
        return (
            f"all {len(found)} operations agree in bits: a bitwise baseline can be expected to hold on both"
        )
    distances = [each.max_ulp for each in apart if each.max_ulp is not None]
    worst = f", by up to {max(distances)} ULPs" if distances else ""
    counted = f"{len(apart)} of {len(found)} operations differ{worst}"
    return f"{counted}: do not expect a bitwise baseline to hold on both"


def _outcome(each: Agreement) -> str:
    """One probe's comparison for a reader."""
    if each.same:
        return "same bits"
    if each.max_ulp is None:
        return each.reason or "other values"
    if each.max_ulp == 0:
        return "differs, though not in the values that were kept"
    plural = "s" if each.max_ulp > 1 else ""
    return f"up to {each.max_ulp} ULP{plural} apart, {each.differing or 0:.0%} of the values"
