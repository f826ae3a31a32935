"""`twinrun diff`: two recordings."""

from __future__ import annotations

from pathlib import Path

import click

from twinrun.cli.options import SettledVerb, output_options


@click.command(cls=SettledVerb)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("--contract", default="bitwise", show_default=True, envvar="TWINRUN_CONTRACT",
              help="bitwise, ulp=N, rtol=…,atol=…, or band=loss:1e-3,accuracy:0.5%.")  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="The verdict only.")
@output_options()
@click.pass_context
def diff(
    ctx: click.Context,
    a: str,
    b: str,
    contract: str,
    quiet: bool,
    output_format: str,
    output_file: str | None,
    html: str | None,
) -> None:
    """Compare the recordings A and B, and say from which step and tensor they differ.

    Exit codes: 0 repeats, 1 diverges, 2 could not judge.
    """
    from twinrun.comparison.contract import parse_contract
    from twinrun.comparison.recordings import compare_recordings
    from twinrun.render import write_result

    result = compare_recordings(Path(a), Path(b), parse_contract(contract))
    write_result(result, output_format, output_file, html, quiet=quiet)
    ctx.exit(result.exit_code)
