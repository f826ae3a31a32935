"""The answer of `twinrun diff` for two runs of a tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinrun.terminal import Line, Lines

if TYPE_CHECKING:
    from twinrun.trackers.epochs import EpochDifference, EpochsResult


def as_lines(result: EpochsResult, *, quiet: bool = False) -> Lines:
    yield Line(result.verdict, result.verdict, _headline(result))
    if quiet:
        return
    first = result.first_difference
    if first is not None:
        yield f"  {result.runs[0]}: {first.a}"
        yield f"  {result.runs[1]}: {first.b}"
        if first.others:
            yield f"  {first.others} more {first.kind}{'s' if first.others > 1 else ''} {'differ' if first.others > 1 else 'differs'}"
    yield from (f"  note: {note}" for note in result.notes)


def _headline(result: EpochsResult) -> str:
    if result.reason:
        return f": {result.reason}"
    first = result.first_difference
    if first is None:
        trained = sum(epoch > 0 for epoch in result.equal_after)
        return (
            f": {trained} epochs compared, {result.variables} variables and the metrics are equal after each"
        )
    return f" {_when(first)}: {first.kind} {first.name} differs, {_before(result)}"


def _when(first: EpochDifference) -> str:
    return f"after epoch {first.epoch}" if first.epoch else "before the first epoch"


def _before(result: EpochsResult) -> str:
    if not result.equal_after:
        return "the first that was compared"
    last = result.equal_after[-1]
    return f"everything was equal after epoch {last}" if last else "everything was equal before training"
