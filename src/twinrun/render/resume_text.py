"""The answer of `twinrun resume` on a terminal: verdict first, then each stop, then what was not restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.counted import counted
from twinrun.render.text import finding_lines, output_tail
from twinrun.result import REPEATS, and_children
from twinrun.terminal import Line, Lines

if TYPE_CHECKING:
    from twinrun.resume.outcome import ResumeResult, Stop


def as_lines(result: ResumeResult, *, quiet: bool = False) -> Lines:
    yield Line(result.verdict, result.verdict, f": {_headline(result)}")
    if quiet:
        return
    if result.steps:
        seen = f"; files written after steps {_numbers(result.checkpoints)}" if result.checkpoints else ""
        yield f"  uninterrupted: {counted(result.steps, 'step')}{seen}"
    for stop in result.stops:
        yield f"  {stop.place}: {_outcome(stop)}"
        yield from (f"    {line}" for line in (*_files(stop), *stop.notes))
    for finding in result.findings:
        yield ""
        yield from finding_lines(finding)
    yield from (f"  note: {note}" for note in result.notes)
    tails = [result.output_tail, *(stop.output_tail for stop in result.stops)]
    yield from output_tail(next((tail for tail in tails if tail), None))
    if result.recordings:
        yield Line(f"  recordings: {Path(result.recordings[0]).parent}", "dim")


def _headline(result: ResumeResult) -> str:
    if result.reason:
        return result.reason
    if result.verdict == REPEATS:
        times = "once" if len(result.stops) == 1 else f"{len(result.stops)} times"
        how = f"by {result.signal}{' as it saved' if result.stops[0].during_save else ''}"
        compared = f"{result.steps} steps{and_children(result.children)}{_left(result)}"
        return f"stopped {how} {times}, resumed equals uninterrupted bit for bit: {compared}; output not compared"
    worst = next(stop for stop in result.stops if stop.outcome not in ("equal", "undecided"))
    return f"{worst.place}, {_outcome(worst)}"


def _left(result: ResumeResult) -> str:
    equal = min((stop.files.equal for stop in result.stops if stop.files), default=0)
    return f" and {counted(equal, 'file')}" if equal else ""


def _files(stop: Stop) -> Iterator[str]:
    if stop.files is None:
        return
    if stop.files.different:
        yield f"files differ from the uninterrupted run: {', '.join(stop.files.different)}"
    if stop.files.texts:
        yield f"differ in added lines or in names alone, which is not judged: {', '.join(stop.files.texts)}"


def _outcome(stop: Stop) -> str:
    if stop.outcome == "undecided":
        return f"undecided: {stop.reason}"
    if stop.outcome == "failed":
        return stop.reason or "it failed when it was started again"
    if stop.outcome == "started-over":
        return "it started over from step 1"
    resumed = (
        "resumed in a state that matches no step"
        if stop.resumed_after is None
        else f"resumed after step {stop.resumed_after}"
    )
    if stop.outcome == "equal":
        return f"{resumed}, equal to the end" if stop.resumed_after else "started over, equal to the end"
    first = stop.first_difference
    if first is None:
        return "it stopped training"
    if first.uneven:
        return f"{resumed}, equal but for the number of steps"
    more = f" and {first.others} more" if first.others else ""
    at = "differs" if stop.resumed_after is None else f"differs from step {first.step} on"
    return f"{resumed}, {at} ({first.phase}: {first.tensor}{more})"


def _numbers(steps: tuple[int, ...], most: int = 12) -> str:
    shown: Iterator[str] = map(str, steps[:most])
    return ", ".join(shown) + (f" and {len(steps) - most} more" if len(steps) > most else "")
