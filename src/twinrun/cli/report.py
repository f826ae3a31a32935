"""`twinrun report`: a saved result, rendered again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from twinrun.cli.options import output_options, shared
from twinrun.errors import BadResult, UsageError
from twinrun.trackers import TITLES

_FINDINGS_ONLY = ("sarif", "github")


@click.command()
@click.argument("result", type=click.Path())
@shared("quiet", "verbose")
@output_options()
@shared(*TITLES)
@click.pass_context
def report(
    ctx: click.Context,
    /,
    result: str,
    output_format: str,
    output_file: str | None,
    html: str | None,
    quiet: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Render a saved RESULT, the JSON that `twinrun check --output-format json` wrote (`-`: from stdin).

    The exit code is 0 if it could be rendered, whatever the verdict, and 2 if not.
    """
    from twinrun.publish.send import asked_for, send
    from twinrun.render import findings_text, write, write_results
    from twinrun.render.several import one_program_only, results_in
    from twinrun.result import SAVE_ONE, read_findings

    # TWINRUN_MLFLOW=1 is meant for the check, which has logged its result.
    here = {name for name in given if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    trackers = asked_for({name: value if name in here else None for name, value in given.items()})
    document = read_document(result)
    holds_checks = str(document["schema"]).startswith(("twinrun/check", "twinrun/baseline"))
    if trackers and not holds_checks:
        raise UsageError("only the result of a check can be logged to a tracker", hint=SAVE_ONE)
    if output_format in _FINDINGS_ONLY and html is None and not holds_checks:
        # Findings look the same in every verb's document.
        write(findings_text(read_findings(document, where=result), output_format), output_file)
        return
    if str(document["schema"]).startswith("twinrun/spread"):
        _spread(document, result, output_format, output_file, html)
        return
    results = results_in(document, where=result)
    if len(results) > 1:
        one_program_only(html=html)
    write_results(
        results,
        output_format=output_format,
        output_file=output_file,
        html=html,
        quiet=quiet,
        verbose=verbose,
    )
    send(document, trackers)


def _spread(
    document: dict[str, Any], where: str, output_format: str, output_file: str | None, html: str | None
) -> None:
    from twinrun.render.spread import write_report
    from twinrun.spread.comparing import ComparisonReport
    from twinrun.spread.report import SpreadReport
    from twinrun.spread.statistics import must_have_scipy

    must_have_scipy()
    if output_format not in ("text", "html", "json"):
        raise UsageError(
            f"a spread cannot be written as {output_format}", hint="write it as text, html or json"
        )
    compared = str(document["schema"]).startswith("twinrun/spread-compare/")
    found = (ComparisonReport if compared else SpreadReport).from_json(document, where=where)
    write_report(found, output_format=output_format, output_file=output_file, html=html)


def read_document(file: str) -> dict[str, Any]:
    from twinrun import untrusted
    from twinrun.result import SAVE_ONE

    try:
        if file == "-":
            document = untrusted.parse_json(untrusted.limited(sys.stdin.buffer))
        else:
            document = untrusted.read_json(Path(file))
    except FileNotFoundError:
        raise BadResult(f"no such result: {file}", hint=SAVE_ONE) from None
    except (OSError, ValueError) as problem:
        raise BadResult(f"{file} cannot be read: {problem}", hint=SAVE_ONE) from None
    if not isinstance(document, dict) or not str(document.get("schema")).startswith("twinrun/"):
        raise BadResult(f"{file} is not a result of twinrun", hint=SAVE_ONE)
    return document
