"""Replicas that train together hold the same weights after every step. Those of one process are compared there; those of
several are compared here, by their recordings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from twinrun.comparison.frames import Difference
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.launch.children import ends_of
from twinrun.protocol import Facts
from twinrun.protocol.child import ChildProcess
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
    how = "the copies of every variable that the strategy mirrors are compared after each step"
    return finding("TW604", str(drift), confirmed=True, evidence=[how])


def _drift_in(twin: Path, facts: Facts) -> Drifted | None:
    """The first of a twin."""
    workers = [(about, folder, end.facts) for about, folder, end in ends_of(twin) if end is not None]
    known = [(f" of {_name(about)}", own) for about, _, own in workers]
    if not any(about.worker is not None for about, _, _ in workers):  # a cluster is known by its workers
        known.append(("", facts))
    found = [
        Drifted(drift.step, drift.variable, f"replica 0{where}", f"replica {drift.replica}{where}")
        for where, own in known
        if own.replicated is not None and (drift := own.replicated.drift) is not None
    ]
    clusters: dict[str, list[tuple[ChildProcess, Path, Facts]]] = {}
    for about, folder, own in workers:
        if own.replicated is not None and own.replicated.cluster:
            clusters.setdefault(own.replicated.cluster, []).append((about, folder, own))
    for (first, folder, own), *others in clusters.values():
        for about, theirs, _ in others:
            assert own.replicated is not None
            apart = _first_drift((folder, theirs), own.replicated.variables)
            if apart is not None:
                found.append(Drifted(*apart, _name(first), _name(about)))
    return min(found, key=lambda each: each.step, default=None)


def _name(about: ChildProcess) -> str:
    return about.label if about.worker is not None else f"child {about.identity} ({about.label})"


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
    """The digests of these variables after each step."""
    for frame in reader.frames():
        if frame.span and frame.digests:
            places = frame.layout.places
            entries = {
                name: entry for name in variables if (entry := places.get(("weights", name))) is not None
            }
            yield (
                frame.step,
                {name: (frame.layout.kind(entry), frame.digest(entry)) for name, entry in entries.items()},
            )
