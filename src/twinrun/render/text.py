"""The answer on a terminal: verdict first, then where, then why, then what to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.findings.finding import Finding
from twinrun.result import DIVERGES, REPEATS, CheckResult

if TYPE_CHECKING:
    from twinrun.comparison.frames import Difference
    from twinrun.launch.run import RunResult

_COLOURS = {"repeats": "32", "diverges": "31", "undecided": "33", "bold": "1", "dim": "2"}


def as_text(result: CheckResult, *, quiet: bool = False, colour: bool = True) -> str:
    paint = _painter(colour)
    lines = [paint(result.verdict, result.verdict) + headline(result)]
    if not quiet:
        lines += list(_body(result, paint))
    return "\n".join(lines) + "\n"


def printable(text: str) -> str:
    """Names come from programs and recordings: control characters are shown, never sent to the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else _shown(char) for char in text)


def inline(text: str) -> str:
    """The same for what stands in a line of ours: a name cannot begin a line of its own."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _shown(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _painter(colour: bool):  # type: ignore[no-untyped-def]
    on = colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return lambda text, style: f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if on else text


def headline(result: CheckResult) -> str:
    difference = result.first_difference
    if result.verdict == DIVERGES and difference is not None and not result.reason:
        return f" at step {difference.step}, phase {difference.phase}: {inline(_where(difference))}"
    if result.reason:
        return f": {inline(result.reason)}"
    steps = f"{result.steps_compared} steps" if result.steps_compared else "what could be seen"
    within = "bit for bit" if result.contract == "bitwise" else f"within {result.contract}"
    return f": {result.runs} runs, {steps} compared, equal {within}"


def _where(difference: Difference) -> str:
    if difference.only_in is not None:
        return f"{difference.tensor} was seen in twin {difference.only_in} only"
    return f"{difference.tensor} differs, everything before was equal"


def _body(result: CheckResult, paint) -> Iterator[str]:  # type: ignore[no-untyped-def]
    difference = result.first_difference or (result.bits_differ_from if result.verdict != REPEATS else None)
    if difference is not None:
        yield from _measured(difference)
    if result.verdict == REPEATS and result.bits_differ_from is not None:
        bits = result.bits_differ_from
        yield f"  the bits differ from step {bits.step} on ({bits.phase}: {inline(bits.tensor)})"
    yield from _growth(result)
    for finding in result.findings:
        yield ""
        yield from _finding(finding, paint)
    for experiment in result.experiments:
        yield f"  tried: {inline(str(experiment.get('what')))}: {experiment.get('came_out')}"
    for note in result.notes:
        yield f"  note: {inline(note)}"
    if result.varied:
        yield f"  varied between the twins: {', '.join(result.varied)}"
    if result.output_tail:
        yield "  the program's last words:"
        yield from (f"    {inline(line)}" for line in result.output_tail.splitlines())
    if result.recordings:
        yield paint(f"  recordings: {Path(result.recordings[0]).parent}", "dim")


def _measured(difference: Difference) -> Iterator[str]:
    if difference.span > 1:
        yield f"  steps {difference.step - difference.span + 1} to {difference.step} lie between two looks: it arose in one of them"
    d = difference.distance
    if d is None:
        return
    parts = [f"{d.count} of {d.size} elements differ"]
    if d.max_ulp is not None:
        parts.append(f"by at most {d.max_ulp} ULP")
    if d.max_abs is not None:
        parts.append(f"{d.max_abs:.3g} absolutely")
    yield "  " + ", ".join(parts)
    if d.first_index is not None and d.first_values is not None:
        yield f"  first at {list(d.first_index)}: {inline(d.first_values[0])} against {inline(d.first_values[1])}"
    if d.note:
        yield f"  {inline(d.note)}"
    if difference.others:
        yield f"  {difference.others} more {'tensor differs' if difference.others == 1 else 'tensors differ'} at this step"


def _growth(result: CheckResult) -> Iterator[str]:
    rows = [row for row in result.growth if row.get("max_abs") is not None]
    if len(rows) > 1:
        shown = rows[:: max(1, len(rows) // 5)][:5]
        yield "  distance: " + ", ".join(
            f"step {row['step']}: {row['max_abs']:.3g}" for row in [*shown, rows[-1]]
        )


def _finding(finding: Finding, paint) -> Iterator[str]:  # type: ignore[no-untyped-def]
    kind = "error" if finding.confirmed else "suspicion"
    yield f"{paint(f'{kind}[{inline(finding.code)}]', 'diverges')}: {inline(finding.message)}"
    if finding.place:
        yield f"  --> {inline(finding.place)}{_source(finding)}"
    for line in finding.evidence:
        yield f"  = {inline(line)}"
    if finding.fix:
        first, *rest = printable(finding.fix).splitlines()
        yield f"  fix: {first}"
        yield from (f"       {line}" for line in rest)
    yield f"  see: twinrun explain {inline(finding.code)}"


def _source(finding: Finding) -> str:
    from twinrun.render.excerpt import excerpt

    blamed = [line.text.strip() for line in excerpt(finding.file, finding.line) if line.blamed]
    return f"   {inline(blamed[0])}" if blamed and blamed[0] else ""


def run_as_text(result: RunResult, *, quiet: bool) -> str:
    if quiet:
        return f"{result.recording}\n"
    lines = [f"recorded {result.steps} steps in {result.seconds:.1f} s"]
    if result.reason:
        lines.append(f"  {inline(result.reason)}")
    lines += [f"  note: {inline(note)}" for note in result.facts.get("notes", [])]
    if result.output_tail:
        lines += [
            "  the program's last words:",
            *(f"    {inline(line)}" for line in result.output_tail.splitlines()),
        ]
    lines.append(f"recording: {result.recording}")
    return "\n".join(lines) + "\n"
