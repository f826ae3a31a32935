"""Replicas that train together hold the same weights after every step. Those of one process are compared there; those of
several are compared here, by their recordings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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
    """`one` and `other` are replicas, in words."""

    step: int
    variable: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.variable} of {self.other} is not that of {self.one} from step {self.step} on"


def judge_replicas(result: CheckResult, twins: Sequence[tuple[Path, Facts]]) -> CheckResult:
    """The result of the twins, with what their replicas say. Where the twins agree, these must too."""
    if result.verdict not in (REPEATS, DIVERGES):
        return result
    found = next((drift for folder, facts in twins if (drift := _drift_in(folder, facts))), None)
    if found is None:
        return result
    result = result.replace(findings=(*result.findings, _finding(found)))
    if result.verdict == DIVERGES:
        return result
    return result.replace(
        verdict=DIVERGES,
        reason=f"the twins agree, but replicas that must be equal are not: {found}",
        reason_kind="replica-drift",
        first_difference=Difference(found.step, "weights", found.variable, process=found.other),
    )


def _finding(drift: Drifted) -> Finding:
    how = "the copies of every trainable variable that the strategy mirrors are compared after each step"
    return finding("TW604", str(drift), confirmed=True, evidence=[how])


def _drift_in(twin: Path, facts: Facts) -> Drifted | None:
    """The first of a twin."""
    workers = [(about, folder, known.replicated) for about, folder, known in known_of(twin)]
    known = [(f" of {_name(about)}", own) for about, _, own in workers]
    if not any(about.worker is not None for about, _, _ in workers):  # a cluster is known by its workers
        known.append(("", facts.replicated))
    found = [
        Drifted(drift.step, drift.variable, f"replica 0{where}", f"replica {drift.replica}{where}")
        for where, own in known
        if own is not None and (drift := own.drift) is not None
    ]
    clusters: dict[str, list[tuple[ChildProcess, Path, Replicated]]] = {}
    for about, folder, own in workers:
        if own is not None and own.cluster and _is_recorded(folder):
            clusters.setdefault(own.cluster, []).append((about, folder, own))
    for (first, folder, own), *others in clusters.values():
        for about, theirs, _ in others:
            apart = _first_drift((folder, theirs), own.variables)
            if apart is not None:
                found.append(Drifted(*apart, _name(first), _name(about)))
    return min(found, key=lambda each: each.step, default=None)


def _name(about: ChildProcess) -> str:
    return about.label if about.worker is not None else f"child {about.identity} ({about.label})"


def _is_recorded(folder: Path) -> bool:
    """One that was ended before it had written anything is not."""
    try:
        open_recording(folder)[1].close()
    except BadRecording:
        return False
    return True


def _first_drift(folders: tuple[Path, Path], variables: Sequence[str]) -> tuple[int, str] | None:
    """The first step, and the first of these variables, at which the weights of two processes differ."""
    with contextlib.ExitStack() as opened:
        readers = [opened.enter_context(contextlib.closing(open_recording(each)[1])) for each in folders]
        other = dict(_weights(readers[1], variables))
        for step, weights in _weights(readers[0], variables):
            theirs = other.get(step, {})
            for name in variables:
                if name in weights and name in theirs and _differ(weights[name], theirs[name]):
                    return step, name
    return None


def _differ(one: Digest, other: Digest) -> bool:
    """Digests of different kinds say nothing."""
    return one[0] == other[0] and one[1] != other[1]


def _weights(reader: Reader, variables: Sequence[str]) -> Iterator[tuple[int, dict[str, Digest]]]:
    """The digests of these variables after each step. One that is not reported is as it was."""
    known: dict[str, Digest] = {}
    for frame in reader.frames():
        if frame.span and frame.digests:
            for name in variables:
                entry = frame.layout.places.get(("weights", name))
                if entry is not None:
                    known[name] = frame.layout.kind(entry), frame.digest(entry)
            yield frame.step, dict(known)
