"""What `twinrun fix` says below its patch: what was changed, what that proved, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinrun.counted import counted
from twinrun.findings.finding import spelled
from twinrun.render.text import finding_lines
from twinrun.result import DIVERGES, REPEATS
from twinrun.terminal import Lines, text_of

if TYPE_CHECKING:
    from twinrun.fix.outcome import FixResult, Proof


def proved(result: FixResult, *, quiet: bool = False) -> str:
    return text_of([_headline(result)] if quiet else as_lines(result))


def as_lines(result: FixResult) -> Lines:
    for change in result.changes:
        yield f"{change.code} {spelled(change.file, change.line, change.cell)}: {change.note}"
        if not change.safe:
            yield "  this changes more than randomness and order: read it before you keep it"
    for change in result.not_needed:
        yield f"not needed: {change.code} {spelled(change.file, change.line, change.cell)}: {change.note}"
    if result.arguments:
        yield f"run it with {' '.join(result.arguments)}"
    yield _headline(result)
    if result.written:
        yield "the patch was applied to the files"
    if result.left:
        yield "what is left:"
    for finding in result.left:
        yield from (f"  {line}" for line in finding_lines(finding))
    yield from (f"note: {note}" for note in result.notes)


def _headline(result: FixResult) -> str:
    made = _made(result)
    if result.verdict == REPEATS and result.proof is not None:
        return f"{made}, {_equal(result.proof)}"
    if result.verdict == DIVERGES and result.unchanged:
        return "the program diverges, and nothing was found that an edit of its source can fix"
    if result.verdict == DIVERGES:
        return f"{made}, the program still diverges"
    return f"{made}, the program could not be judged: {result.reason or 'unknown reason'}"


def _made(result: FixResult) -> str:
    arguments = " ".join(result.arguments)
    if result.changes:
        return f"with this patch and {arguments}" if arguments else "with this patch"
    return f"with {arguments} and no change of the source" if arguments else "without any change"


def _equal(proof: Proof) -> str:
    """`2 runs, 40 steps and the program's output are equal`."""
    steps = [counted(proof.steps, "step")] if proof.steps else []
    output = [proof.output] if proof.output else []
    what = "".join(f", {each}" for each in [" and ".join([*steps, *output])] if each)
    within = "" if proof.contract == "bitwise" else f" within {proof.contract}"
    return f"{counted(proof.runs, 'run')}{what} are equal{within}"
