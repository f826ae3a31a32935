"""`twinrun diff`: two recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from twinrun.cli.options import ConfiguredVerb, output_options, shared


@click.command(cls=ConfiguredVerb)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@shared("contract", "quiet", "verbose")
@output_options()
@click.pass_context
def diff(ctx: click.Context, /, a: str, b: str, contract: str, **shown: Any) -> None:
    """Compare the recordings A and B, and report from which step and tensor they differ.

    Runs that were cut off are compared as far as they go. Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    from twinrun.comparison.contract import parse_contract
    from twinrun.launch.offline import compare_recordings
    from twinrun.render import write_results

    result = compare_recordings(Path(a), Path(b), parse_contract(contract))
    write_results([("", result)], **shown)
    ctx.exit(result.exit_code)
