"""The answer of `twinrun baseline` on a terminal: a check's, with what a baseline adds."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.baselines.outcome import BaselineResult
from twinrun.render import text
from twinrun.result import REPEATS
from twinrun.terminal import Lines

_DONE = {
    "recorded": "recorded",
    "accepted": "accepted",
    "unchanged": "already recorded, with the same bits",
}


def as_lines(result: BaselineResult, *, quiet: bool = False, verbose: bool = False) -> Lines:
    about = result.baseline
    if about.action != "checked":
        yield f"{_DONE[about.action]}: {about.name} for {about.key} in {about.store}/{about.file}"
        return
    equal = f": {result.compared}, equal to the baseline {result.within}"
    title = equal if result.verdict == REPEATS else None
    yield from text.as_lines(result, quiet=quiet, verbose=verbose, title=title)
    if not quiet:
        yield from _added(result)


def _added(result: BaselineResult) -> Iterator[str]:
    about = result.baseline
    yield f"  baseline: {about.name} for {about.key}" + (f" ({about.file})" if about.file else "")
    if about.other_keys:
        yield f"  baselines of {about.name}: {', '.join(about.other_keys)}"
    if about.nearest is not None:
        yield f"  different from {about.nearest}:"
        yield from (f"    {each.code} {each.sentence}" for each in about.differences)
    if about.commits:
        yield f"  commits since the baseline ({len(about.commits)}):"
        yield from (f"    {line}" for line in about.commits)
    if about.history and result.exit_code:
        last = about.history[-1]
        yield f"  last accepted {last.get('when')}: {last.get('reason')}"
    yield from (f"  next: {command}" for command in about.commands)
