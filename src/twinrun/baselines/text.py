"""A baseline's result for a reader: the check's own text with what a baseline adds to it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from twinrun.baselines.result import BaselineResult
from twinrun.errors import CannotWrite
from twinrun.render import write_result
from twinrun.render.text import as_text, printable
from twinrun.result import REPEATS, CheckResult


def write_baseline_result(
    result: BaselineResult, output_format: str, output_file: str | None, html: str | None, *, quiet: bool
) -> None:
    """Text and JSON know of baselines; every other format is a view of the check inside."""
    if output_format == "json":
        write(json.dumps(result.as_json(), indent=1, default=str) + "\n", output_file)
    elif output_format == "text":
        write(baseline_as_text(result, quiet=quiet, colour=output_file is None), output_file)
    else:
        write_result(result.check, output_format, output_file, None, quiet=quiet)
    if html:
        write_result(result.check, "text", os.devnull, html, quiet=True)


def write(text: str, file: str | None) -> None:
    if file is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise CannotWrite(f"cannot write {file}: {problem.strerror}", hint="choose another place") from None


def baseline_as_text(result: BaselineResult, *, quiet: bool = False, colour: bool = False) -> str:
    if result.action != "checked":
        return f"{_done(result)}\n"
    lines = as_text(result.check, quiet=quiet, colour=colour).rstrip("\n").splitlines()
    if result.check.verdict == REPEATS:
        verdict = lines[0].partition(":")[0]  # painted already
        within = "bit for bit" if result.check.contract == "bitwise" else f"within {result.check.contract}"
        steps = result.check.steps_compared
        lines[0] = f"{verdict}: {steps} steps, equal to the baseline {within}"
    if not quiet:
        lines += _more(result)
    return "\n".join(lines) + "\n"


def several_as_text(
    outcomes: list[tuple[str, BaselineResult | CheckResult]], output_format: str, *, quiet: bool
) -> str:
    """The results of several named programs, one after the other."""
    if output_format == "json":
        programs = [{"program_name": name, **each.as_json()} for name, each in outcomes]
        return (
            json.dumps({"schema": "twinrun/baseline-all/1", "programs": programs}, indent=1, default=str)
            + "\n"
        )
    texts = []
    for name, each in outcomes:
        text = (
            as_text(each, quiet=quiet)
            if isinstance(each, CheckResult)
            else baseline_as_text(each, quiet=quiet)
        )
        texts.append(f"== {name}\n{text}")
    return "\n".join(texts)


def _done(result: BaselineResult) -> str:
    what = {
        "recorded": "recorded",
        "accepted": "accepted",
        "unchanged": "already recorded, with the same bits",
    }[result.action]
    return printable(f"{what}: {result.name} for {result.key} in {result.store}/{result.file}")


def _more(result: BaselineResult) -> Iterator[str]:
    yield printable(
        f"  baseline: {result.name} for {result.key}" + (f" ({result.file})" if result.file else "")
    )
    if result.others:
        yield printable(f"  baselines of {result.name}: {', '.join(result.others)}")
    if result.nearest is not None:
        yield printable(f"  different from {result.nearest}:")
        yield from (printable(f"    {each.code} {each.sentence}") for each in result.differences)
    if result.commits:
        yield f"  commits since the baseline ({len(result.commits)}):"
        yield from (printable(f"    {line}") for line in result.commits)
    if result.history and result.check.exit_code:
        last = result.history[-1]
        yield printable(f"  last accepted {last.get('when')}: {last.get('reason')}")
    yield from (printable(f"  next: {command}") for command in result.commands)
