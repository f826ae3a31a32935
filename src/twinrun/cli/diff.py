"""`twinrun diff`: two recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twinrun.cli.options import ConfiguredVerb, output_options, shared
from twinrun.errors import BadRecording, UsageError


@click.command(cls=ConfiguredVerb)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path(), required=False)
@shared("contract", "quiet", "verbose", verbose={"help": "Show what led to each finding."})
@output_options()
@click.pass_context
def diff(ctx: click.Context, /, a: str, b: str | None, contract: str, **shown: Any) -> None:
    """Compare the recordings A and B, and report from which step and tensor they differ.

    Given only A, a folder printed by `twinrun check`, compares its twins. Of two such folders the first twins are compared.
    Runs that were cut off are compared as far as they go. Runs that were trained with the callback twinrun.EpochDigests are
    compared by epoch: mlflow:RUN_ID, or the folder of a run of TensorBoard or W&B. Exit codes: 0 repeats, 1 diverges, 2 could
    not judge.
    """
    from twinrun.comparison.contract import parse_contract
    from twinrun.launch.offline import compare_recordings
    from twinrun.recording.manifest import recording_in
    from twinrun.render import write_results
    from twinrun.trackers.epochs import is_tracked

    if b is not None and (is_tracked(a) or is_tracked(b)):
        ctx.exit(_epochs(a, b, contract, **shown))
    one, other = recording_in(Path(a)), recording_in(Path(b)) if b is not None else Path(a) / "B"
    if not one.exists() and not is_tracked(a):
        hint = "give the folder that `twinrun run` or `twinrun check` printed"
        raise BadRecording(f"no such recording: {a}", hint=hint)
    if b is None and not (one.name == "A" and other.is_dir()):
        raise UsageError(f"compare {a} with what?", hint="give two recordings, or the folder of a check")
    result = compare_recordings(one, other, parse_contract(contract))
    write_results([("", result)], **shown)
    ctx.exit(result.exit_code)


def _epochs(
    a: str, b: str, contract: str, *, output_format: str, output_file: str | None, **shown: Any
) -> int:
    from twinrun.render import show
    from twinrun.render.epochs_text import as_lines
    from twinrun.trackers.epochs import compare_runs

    if output_format not in ("text", "json") or shown["html"]:
        raise UsageError("runs of a tracker are compared as text or json", hint="--output-format json")
    if contract != "bitwise":
        raise UsageError("runs of a tracker are compared bit for bit", hint="leave out --contract")
    result = compare_runs(a, b)
    show(output_format, result.as_json(), as_lines(result, quiet=shown["quiet"]), output_file)
    return result.exit_code
