"""Where a restarted program joins the uninterrupted run. It counts its own steps from 1: which step it went on after is
found by what it held before its first one, never assumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from twinrun.recording.reader import Reader
from twinrun.resume.history import Step, history

_NONE = (0, 0)  # the score of a step that nothing comes from


@dataclass(frozen=True)
class Joined:
    """`after` is the step of the uninterrupted run whose state the restarted one began with; 0 is its very start. `held`:
    that state was seen before the first step; else only what the first step made of it. `names`: what the uninterrupted run
    calls a variable that has another name here."""

    after: int
    held: bool
    names: dict[str, str] = field(default_factory=dict)


def join(whole: Reader, restarted: Reader, stopped_at: int) -> Joined | None:
    """Where the restarted run joins the other. None where it began with the state of no step."""
    first = list(islice(history(restarted), 2))
    start = next(iter(history(whole))).state
    if not start and len(first) < 2:
        return None
    scores = _scores(whole, first[0].state)
    if scores:
        return _joined(whole, _best(scores, stopped_at), first[0], held=True)
    started_over = _is_start(first[0].state, start)
    scores = _scores(whole, first[1].state) if len(first) > 1 else {}
    # What it had been seen to hold before may have been restored since, so the first step has the last word.
    if scores and (not started_over or max(scores.values()) > scores.get(1, _NONE)):
        return _joined(whole, _best(scores, stopped_at + 1) - 1, first[1], held=False)
    return Joined(0, held=True) if started_over else None


def _scores(whole: Reader, held: dict[str, bytes]) -> dict[int, tuple[int, int]]:
    """How many variables of each step's state are among these: under the same name, and, which counts for less, under
    any. Only those are counted that the step, or one before it, has changed to what nothing was at the start: slots of zeros
    are everywhere."""
    known = set(held.values())
    start: set[bytes] = set()
    found: dict[int, tuple[int, int]] = {}
    for step in history(whole):
        if step.number == 0:
            start = set(step.state.values())
            continue
        changed = [(name, digest) for name, digest in step.state.items() if digest not in start]
        anywhere = sum(digest in known for _, digest in changed)
        if anywhere:
            found[step.number] = (sum(held.get(name) == digest for name, digest in changed), anywhere)
    return found


def _best(scores: dict[int, tuple[int, int]], stopped_at: int) -> int:
    """The step that most of it comes from. Of several, whose states cannot be told apart, the last before the stop."""
    most = max(scores.values())
    ties = [step for step, score in scores.items() if score == most]
    return max((step for step in ties if step <= stopped_at), default=ties[0])


def _is_start(held: dict[str, bytes], start: dict[str, bytes]) -> bool:
    shared = held.keys() & start.keys()
    return bool(shared) and all(held[name] == start[name] for name in shared)


def _joined(whole: Reader, after: int, first: Step, *, held: bool) -> Joined:
    """Names differ where the restarted program builds its model in another way, by loading it say."""
    wanted, start = state_after(whole, after if held else after + 1).state, state_after(whole, 0).state
    common = set(start.values())
    free = {digest: name for name, digest in first.state.items() if wanted.get(name) != digest}
    names = {
        free[digest]: name
        for name, digest in wanted.items()
        if first.state.get(name) != digest and digest in free and digest not in common
    }
    return Joined(after, held, names)


def state_after(reader: Reader, number: int) -> Step:
    """The last step up to this number."""
    last = Step(0, {}, {})
    for step in history(reader):
        if step.number > number:
            break
        last = step
    return last
