"""Replicas that train together hold the same weights after every step. Those of one process are compared there; those of
several are compared here, by their recordings."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from twinrun.comparison.frames import Difference
from twinrun.errors import BadRecording
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.launch.children import known_of
from twinrun.protocol import Facts
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.facts import Replicated
from twinrun.recording.folder import open_recording
from twinrun.recording.reader import Reader
from twinrun.result import DIVERGES, REPEATS, CheckResult

Digest = tuple[str, bytes]  # with its kind


@dataclass(frozen=True)
class Drifted:
    """`one` and `other` are replicas, in words; `worker` is the number of the process that the other is in, if it has one.
    `at_end`: it is not known whether a step made them differ, or what one process did to its weights after training, such
    as a chief that replaces them by their mean."""

    step: int
    variable: str
    one: str
    other: str
    worker: int | None = None
    at_end: bool = False

    def __str__(self) -> str:
        when = f"after step {self.step}, the last one" if self.at_end else f"from step {self.step} on"
        return f"{self.variable} of {self.other} is not that of {self.one} {when}"


def judge_replicas(result: CheckResult, twins: Sequence[tuple[Path, Facts]]) -> CheckResult:
    """The result of the twins, with what their replicas say. Where the twins agree, these must too."""
    if result.verdict not in (REPEATS, DIVERGES):
        return result
    found = next((drift for folder, facts in twins if (drift := _drift_in(folder, facts))), None)
    if found is None:
        return result
    drifted = _finding(found)
    if drifted not in result.findings:  # a comparison of the same recordings may have found it
        result = result.replace(findings=(*result.findings, drifted))
    if result.verdict == DIVERGES or found.at_end:
        return result
    return result.replace(
        verdict=DIVERGES,
        reason=f"the twins agree, but replicas that must be equal are not: {found}",
        reason_kind="replica-drift",
        first_difference=Difference(
            found.step, "weights", found.variable, worker=found.worker or 0, process=found.other
        ),
    )


def _finding(drift: Drifted) -> Finding:
    how = "the copies of every trainable variable that the strategy mirrors are compared after each step"
    if drift.at_end:
        how = (
            "the program may have changed its weights after training, in one process alone: no step followed"
        )
    return finding("TW604", str(drift), confirmed=not drift.at_end, evidence=[how])


def _drift_in(twin: Path, facts: Facts) -> Drifted | None:
    """The first of a twin."""
    workers = [(about, folder, known.replicated) for about, folder, known in known_of(twin)]
    known = [(f" of {_name(about)}", about.worker, own) for about, _, own in workers]
    if not any(about.worker is not None for about, _, _ in workers):  # a cluster is known by its workers
        known.append(("", None, facts.replicated))
    found = [
        Drifted(drift.step, drift.variable, f"replica 0{where}", f"replica {drift.replica}{where}", worker)
        for where, worker, own in known
        if own is not None and (drift := own.drift) is not None
    ]
    for (first, folder, own), *others in _trained_together(workers):
        for about, theirs, their in others:
            apart = _first_drift((folder, theirs), own.variables)
            if apart is not None:
                (ours, step), name = apart
                at_end = ours == own.open_step or step == their.open_step
                found.append(Drifted(step, name, _name(first), _name(about), about.worker, at_end))
    return min(found, key=lambda each: (each.at_end, each.step), default=None)


def _trained_together(
    workers: Iterable[tuple[ChildProcess, Path, Replicated | None]],
) -> list[list[tuple[ChildProcess, Path, Replicated]]]:
    """The processes of each cluster. One that is started anew at the same addresses is another: it has the same numbers a
    second time."""
    started: Counter[tuple[str, int]] = Counter()
    clusters: dict[tuple[str, int], list[tuple[ChildProcess, Path, Replicated]]] = {}
    for about, folder, own in workers:
        if own is None or not own.cluster:
            continue
        earlier = 0
        if own.number is not None:
            earlier = started[own.cluster, own.number]
            started[own.cluster, own.number] += 1
        if _is_recorded(folder):
            clusters.setdefault((own.cluster, earlier), []).append((about, folder, own))
    return list(clusters.values())


def _name(about: ChildProcess) -> str:
    return about.label if about.worker is not None else f"child {about.identity} ({about.label})"


def _is_recorded(folder: Path) -> bool:
    """One that was ended before it had written anything is not."""
    try:
        open_recording(folder)[1].close()
    except BadRecording:
        return False
    return True


def _first_drift(folders: tuple[Path, Path], variables: Sequence[str]) -> tuple[tuple[int, int], str] | None:
    """The first steps of the two processes after which the weights of one are not those of the other, and the first of these
    variables that is not.

    The steps of two processes have no common numbers: one of them may train something of its own in between, as a chief
    does. But these variables only change together, so the states that they go through are compared, one after the other.
    A state that one process alone has reported is passed over, if both go on from the next."""
    with contextlib.ExitStack() as opened:
        one, other = (
            _States(opened.enter_context(contextlib.closing(open_recording(each)[1])), variables)
            for each in folders
        )
        together = (_START, _START)
        while (apart := _next_apart(one, other, together)) is not None:
            again = _next_together(one, other, apart)
            name = _differing(*apart, variables)
            if again is None and name is not None:
                return (apart[0].step, apart[1].step), name
            together = again or apart
    return None


def _next_apart(one: _States, other: _States, after: tuple[_State, _State]) -> tuple[_State, _State] | None:
    """The first pair that differs."""
    with contextlib.closing(one.after(after[0])) as ours, contextlib.closing(other.after(after[1])) as theirs:
        pairs = zip(ours, theirs, strict=False)
        return next((pair for pair in pairs if _differing(*pair, one.variables)), None)


def _next_together(
    one: _States, other: _States, apart: tuple[_State, _State]
) -> tuple[_State, _State] | None:
    """Where one of these states is found later in the other process too."""
    a, b = apart
    with contextlib.closing(one.after(a)) as ours, contextlib.closing(other.after(b)) as theirs:
        for later_a, later_b in itertools.zip_longest(ours, theirs):
            if later_a is not None and _differing(later_a, b, one.variables) is None:
                return later_a, b
            if later_b is not None and _differing(a, later_b, one.variables) is None:
                return a, later_b
    return None


@dataclass(frozen=True)
class _State:
    """The weights after a step, by name, and the number of its frame."""

    frame: int
    step: int
    weights: dict[str, Digest]


_START = _State(-1, 0, {})


@dataclass(frozen=True)
class _States:
    """What these variables of a recording were, one after the other: a step that leaves them as they were adds none."""

    reader: Reader
    variables: Sequence[str]

    def after(self, state: _State) -> Generator[_State, None, None]:
        """A variable that is not reported is as it was."""
        known, start = state.weights, state.frame + 1
        for number, frame in enumerate(self.reader.frames(start), start):
            if not (frame.span and frame.digests):
                continue
            places = frame.layout.places
            entries = ((name, places.get(("weights", name))) for name in self.variables)
            found = {
                name: (frame.layout.kind(entry), frame.digest(entry))
                for name, entry in entries
                if entry is not None
            }
            if any(known.get(name) != digest for name, digest in found.items()):
                known = {**known, **found}
                yield _State(number, frame.step, known)


def _differing(one: _State, other: _State, variables: Sequence[str]) -> str | None:
    """The first variable that differs. Digests of different kinds say nothing."""
    for name in variables:
        a, b = one.weights.get(name), other.weights.get(name)
        if a is not None and b is not None and a[0] == b[0] and a[1] != b[1]:
            return name
    return None
