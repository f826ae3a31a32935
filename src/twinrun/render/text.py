"""The answer on a terminal: verdict first, then where, then why, then what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.counted import counted
from twinrun.findings.finding import Finding
from twinrun.render.said_once import evidence_beside, notes_beside
from twinrun.result import REPEATS, CheckResult, Experiment, and_children
from twinrun.terminal import Line, Lines, inline, text_of

if TYPE_CHECKING:
    from twinrun.comparison.frames import Difference
    from twinrun.launch.run import RunResult

_SHOWN_CHILDREN = 8
_SHOWN_NODES = 4
_MARKED_BEFORE = 40  # columns of a line of source
_NAME = re.compile(r"[A-Za-z_][\w.]*\w")


def as_text(result: CheckResult) -> str:
    """All of it, for a file that is read later."""
    return text_of(as_lines(result, verbose=True))


def as_lines(
    result: CheckResult, *, quiet: bool = False, verbose: bool = False, title: str | None = None
) -> Lines:
    yield from verdict_lines(result, quiet=quiet, title=title)
    if not quiet:
        yield from cause_lines(result, verbose=verbose)


def verdict_lines(result: CheckResult, *, quiet: bool = False, title: str | None = None) -> Lines:
    """The verdict with its title, which is the headline unless another is given, and where the twins differ: what is known
    before any cause is looked for."""
    yield Line(result.verdict, result.verdict, result.headline if title is None else title)
    if not quiet:
        yield from _differs(result)


def _differs(result: CheckResult) -> Lines:
    yield from (f"  twin {name} on {use}" for name, use in zip("AB", result.devices, strict=False))
    bits = result.first_bit_difference
    difference = result.first_difference or (bits if result.verdict != REPEATS else None)
    if difference is not None:
        yield from _measured(difference)
    if result.verdict == REPEATS and bits is not None:
        yield f"  the bits differ from step {bits.step} on ({bits.phase}: {bits.tensor})"
    yield from _growth(result)
    for child in result.children[:_SHOWN_CHILDREN]:
        yield f"  {child.name}: {child.verdict}" + (
            f", {counted(child.steps, 'step')}" if child.steps else ""
        )
    if len(result.children) > _SHOWN_CHILDREN:
        yield f"  and {len(result.children) - _SHOWN_CHILDREN} more child processes"
    yield from _by_environment(result)
    yield from _worker_counts(result)
    yield from _delivered(result)


def _by_environment(result: CheckResult) -> Iterator[str]:
    """The verdict on the runs of each environment key of a cluster, and how the keys compare."""
    for each in result.by_environment:
        count = counted(len(each.runs), "run")
        differing = f", {len(each.differing)} of them different from {each.runs[0]}" if each.differing else ""
        yield f"  {each.environment}: {each.verdict}, {count} on {_listed(each.nodes)}{differing}"
        if each.against_first:
            yield f"    against {result.by_environment[0].environment}: {each.against_first}"


def _listed(nodes: tuple[str, ...]) -> str:
    more = f" and {len(nodes) - _SHOWN_NODES} more nodes" if len(nodes) > _SHOWN_NODES else ""
    return ", ".join(nodes[:_SHOWN_NODES]) + more


def cause_lines(result: CheckResult, *, verbose: bool = False) -> Lines:
    """Why, and what to do. `verbose`: with everything that supports it."""
    for finding in result.findings:
        yield ""
        yield from finding_lines(finding, verbose=verbose, told=result.experiments if verbose else ())
    if result.findings:
        yield ""
    if verbose:
        yield from (f"  tried: {each.what}: {each.outcome}" for each in result.experiments)
    elif result.experiments:
        them = "it" if len(result.experiments) == 1 else "them"
        yield Line(f"  {counted(len(result.experiments), 'experiment')} (-v shows {them})", "dim")
    yield from (f"  note: {note}" for note in notes_beside(result, verbose=verbose))
    if result.varied:
        yield f"  varied between the twins: {', '.join(result.varied)}"
    yield from output_tail(result.output_tail, result.reason_kind)
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
    values = " against ".join(difference.first_values or ())
    alone = difference.size == 1 and values  # then its values are all there is to show
    parts = [values if alone else f"{difference.differing_count} of {difference.size} elements differ"]
    if difference.near is not None:
        parts.append(f"by at most {difference.near} ULP" if not alone else f"{difference.near} ULP apart")
    if difference.max_abs is not None:
        parts.append(
            f"max abs difference {difference.max_abs:.3g}"
            if not alone
            else f"difference {difference.max_abs:.3g}"
        )
    yield "  " + ", ".join(parts)
    if difference.first_index and values and not alone:
        yield f"  first at {list(difference.first_index)}: {values}"
    if difference.note:
        yield f"  {difference.note}"
    if difference.others:
        yield f"  {difference.others} more {'tensor differs' if difference.others == 1 else 'tensors differ'} at this step"


def _growth(result: CheckResult) -> Iterator[str]:
    rows = [(row.step, row.max_abs) for row in result.growth if row.max_abs is not None]
    if len(rows) > 1:
        some = [*rows[:: max(1, len(rows) // 5)][:5], rows[-1]]
        yield "  distance: " + ", ".join(f"step {step}: {gap:.3g}" for step, gap in some)


def _worker_counts(result: CheckResult) -> Iterator[str]:
    """What each run kept of the first."""
    for each in result.worker_counts[1:]:
        yield f"  with {each}, beside {result.worker_counts[0]}:"
        yield from (f"    {kept.in_words(result.contract)}" for kept in each.quantities)


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
        yield "  standard output: lines of several threads or processes in a different order"
    if found.only_shows:
        yield f"  differs only in the time or a generated name: {_some(found.only_shows)}"
    if found.ignored:
        yield f"  differs and is ignored: {_some(found.ignored)}"


def _some(places: tuple[str, ...]) -> str:
    return "; ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def finding_lines(finding: Finding, *, verbose: bool = False, told: Sequence[Experiment] = ()) -> Lines:
    """What, where, why we are sure, the fix, where to read more. `verbose`: with the notes on how it came about. `told`:
    experiments that are shown beside it."""
    yield Line(
        f"{finding.kind}[{finding.code}]",
        "diverges" if finding.confirmed else "undecided",
        f": {finding.message}",
    )
    if finding.place:
        yield f"  --> {finding.place}"
        yield from _blamed(finding)
    yield from (f"  = {line}" for line in evidence_beside(finding, told, verbose=verbose))
    if finding.fix:
        first, *rest = finding.fix.expandtabs().splitlines() or [""]
        yield _changed("  fix: ", first)
        yield from (_changed("       ", line) for line in rest)
    yield f"  see: twinrun explain {finding.code}"


def _blamed(finding: Finding) -> Lines:
    """The line of source, and below it a mark for the call that the message names, or for all of it."""
    text = next((line.text for line in finding.source if line.number == finding.line), "")
    text = inline(text.expandtabs().strip())
    if not text:
        return
    start, end = _named_in(finding.message, text) or (0, len(text.partition("  #")[0]))
    if start > _MARKED_BEFORE:  # narrow terminals show it too
        hidden = start - _MARKED_BEFORE // 2
        text, start, end = f"…{text[hidden:]}", start - hidden + 1, end - hidden + 1
    margin = f"      {finding.line} | "
    yield Line("", "plain", f"{margin}{text}", fit="cut")
    yield Line(f"{' ' * (len(margin) - 2)}| {' ' * start}{'^' * (end - start)}", "^", fit="cut")


def _named_in(message: str, text: str) -> tuple[int, int] | None:
    """Where the line calls what the message names: the longest such name, as there may be `x.random` and `random`."""
    for name in sorted(set(_NAME.findall(message)), key=lambda name: (-len(name), name)):
        if call := re.search(rf"(?<!\w){re.escape(name)}(?=\s*\()", text):
            return call.span()
    return None


def _changed(head: str, line: str) -> Line:
    """A line of a fix, which may be one of a patch."""
    style = line[:1] if line[:1] in ("+", "-") else "plain"
    return Line(f"{head}{line}", style, fit="fold" if style == "plain" else "leave")


def tail_title(kind: str | None) -> str:
    """Whose words stand under it: the program's, or Twinrun's own where it could not instrument the program."""
    return "Twinrun's own traceback" if kind == "not-instrumented" else "last lines of output"


def output_tail(tail: str | None, kind: str | None = None) -> Iterator[str]:
    """`kind` is that of the reason why there is no verdict."""
    if tail:
        yield f"  {tail_title(kind)}:"
        yield from (f"    {line}" for line in tail.expandtabs().splitlines())


def run_lines(result: RunResult, *, quiet: bool) -> Iterator[str]:
    if quiet:
        yield str(result.recording)
        return
    yield f"recorded {counted(result.steps, 'step')}{and_children(result.children)} in {result.seconds:.1f} s"
    if result.reason:
        yield f"  {result.reason}"
    yield from (f"  note: {note}" for note in result.facts.notes)
    yield from output_tail(result.output_tail, result.reason_kind)
    yield f"recording: {result.recording}"
