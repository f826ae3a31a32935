"""The answer on a terminal: verdict first, then where, then why, then what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.findings.finding import Finding
from twinrun.result import DIVERGES, REPEATS, CheckResult
from twinrun.terminal import Line, Lines, text_of

if TYPE_CHECKING:
    from twinrun.comparison.frames import Difference
    from twinrun.launch.run import RunResult

_SHOWN_CHILDREN = 8


def as_text(result: CheckResult, *, quiet: bool = False) -> str:
    return text_of(as_lines(result, quiet=quiet))


def as_lines(result: CheckResult, *, quiet: bool = False, title: str | None = None) -> Lines:
    """The verdict with its title, which is the headline unless another is given, and what is known beyond it."""
    yield Line(result.verdict, result.verdict, headline(result) if title is None else title)
    if not quiet:
        yield from _body(result)


def headline(result: CheckResult) -> str:
    difference = result.first_difference
    if result.verdict == DIVERGES and difference is not None and not result.reason:
        where = f" in {difference.process}," if difference.process else ""
        return f"{where} at step {difference.step}, phase {difference.phase}: {_where(difference)}"
    if result.reason:
        return f": {result.reason}"
    delivered = result.delivered.summary() if result.delivered is not None else ""
    if result.contract == "output":
        return f": {result.runs} runs, {delivered}"
    also = f"; {delivered}" if delivered else ""
    return f": {result.runs} runs, {compared(result)} compared, equal {within(result)}{also}"


def compared(result: CheckResult) -> str:
    """What was equal. A program without a step is judged by what it evaluates and probes."""
    steps = f"{result.steps_compared} steps" if result.steps_compared else "evaluations and probes"
    return steps + _and_children(len(result.children))


def _and_children(count: int) -> str:
    return f" and {count} child process{'es' if count > 1 else ''}" if count else ""


def within(result: CheckResult) -> str:
    return "bit for bit" if result.contract == "bitwise" else f"within {result.contract}"


def _where(difference: Difference) -> str:
    if difference.only_in is not None:
        return f"{difference.tensor} was seen in twin {difference.only_in} only"
    return f"{difference.tensor} differs, everything before was equal"


def _body(result: CheckResult) -> Lines:
    bits = result.first_bit_difference
    difference = result.first_difference or (bits if result.verdict != REPEATS else None)
    if difference is not None:
        yield from _measured(difference)
    if result.verdict == REPEATS and bits is not None:
        yield f"  the bits differ from step {bits.step} on ({bits.phase}: {bits.tensor})"
    yield from _growth(result)
    for child in result.children[:_SHOWN_CHILDREN]:
        yield f"  {child.name}: {child.verdict}" + (f", {child.steps} steps" if child.steps else "")
    if len(result.children) > _SHOWN_CHILDREN:
        yield f"  and {len(result.children) - _SHOWN_CHILDREN} more child processes"
    yield from _delivered(result)
    for finding in result.findings:
        yield ""
        yield from finding_lines(finding)
    for experiment in result.experiments:
        yield f"  tried: {experiment.what}: {experiment.outcome}"
    for note in result.notes:
        yield f"  note: {note}"
    if result.varied:
        yield f"  varied between the twins: {', '.join(result.varied)}"
    yield from output_tail(result.output_tail)
    if result.recordings:
        yield Line(f"  recordings: {Path(result.recordings[0]).parent}", "dim")


def appeared(difference: Difference) -> str:
    """Where not every step is compared: the steps in one of which the difference first appeared."""
    first = difference.step - difference.span + 1
    return f"compared every {difference.span} steps: the difference first appeared in steps {first}–{difference.step}"


def _measured(difference: Difference) -> Iterator[str]:
    if difference.span > 1:
        yield f"  {appeared(difference)}"
    if difference.differing_count is None:
        return
    parts = [f"{difference.differing_count} of {difference.size} elements differ"]
    if difference.max_ulp is not None:
        parts.append(f"by at most {difference.max_ulp} ULP")
    if difference.max_abs is not None:
        parts.append(f"max abs difference {difference.max_abs:.3g}")
    yield "  " + ", ".join(parts)
    if difference.first_index is not None and difference.first_values is not None:
        one, other = difference.first_values
        yield f"  first at {list(difference.first_index)}: {one} against {other}"
    if difference.note:
        yield f"  {difference.note}"
    if difference.others:
        yield f"  {difference.others} more {'tensor differs' if difference.others == 1 else 'tensors differ'} at this step"


def _growth(result: CheckResult) -> Iterator[str]:
    rows = [(row.step, row.max_abs) for row in result.growth if row.max_abs is not None]
    if len(rows) > 1:
        some = [*rows[:: max(1, len(rows) // 5)][:5], rows[-1]]
        yield "  distance: " + ", ".join(f"step {step}: {gap:.3g}" for step, gap in some)


def _delivered(result: CheckResult) -> Iterator[str]:
    """Where what the twins delivered differs."""
    if result.delivered is None:
        return
    found = result.delivered
    for one in found.differences[1:6]:
        yield f"  {one.place} differs: {one.a!r} against {one.b!r}"
    if len(found.differences) > 6:
        yield f"  and {len(found.differences) - 6} more places of the output"
    if found.reordered:
        yield "  standard output: lines of several threads or processes in another order"
    if found.only_shows:
        yield f"  differs only in what shows the time or a made-up name: {_some(found.only_shows)}"
    if found.ignored:
        yield f"  differs and is ignored: {_some(found.ignored)}"


def _some(places: tuple[str, ...]) -> str:
    return "; ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def finding_lines(finding: Finding) -> Lines:
    kind = "error" if finding.confirmed else "likely"
    yield Line(f"{kind}[{finding.code}]", "diverges", f": {finding.message}")
    if finding.place:
        blamed = next((line.text.strip() for line in finding.source if line.number == finding.line), "")
        yield f"  --> {finding.place}   {blamed}".rstrip()
    for line in finding.evidence:
        yield f"  = {line}"
    if finding.fix:
        first, *rest = finding.fix.expandtabs().splitlines()
        yield f"  fix: {first}"
        yield from (f"       {line}" for line in rest)
    yield f"  see: twinrun explain {finding.code}"


def output_tail(tail: str | None) -> Iterator[str]:
    if tail:
        yield "  last lines of output:"
        yield from (f"    {line}" for line in tail.expandtabs().splitlines())


def run_lines(result: RunResult, *, quiet: bool) -> Iterator[str]:
    if quiet:
        yield str(result.recording)
        return
    yield f"recorded {result.steps} steps{_and_children(result.children)} in {result.seconds:.1f} s"
    if result.reason:
        yield f"  {result.reason}"
    yield from (f"  note: {note}" for note in result.facts.notes)
    yield from output_tail(result.output_tail)
    yield f"recording: {result.recording}"
