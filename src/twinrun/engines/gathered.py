"""Recordings that were made on many machines, compared: within each environment key, where equal bits may be expected, and
between the keys, to say how they compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from twinrun.comparison.contract import Contract
from twinrun.environment.environment import Environment
from twinrun.launch.judged import agree_by_luck
from twinrun.launch.offline import compare_recordings
from twinrun.launch.options import CheckOptions
from twinrun.launch.pin_outcome import noticed
from twinrun.launch.replicas import judge_replicas
from twinrun.launch.run import RunResult
from twinrun.recording.manifest import read_manifest
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, EnvironmentRuns, Reason, Verdict

_GRAVEST: tuple[Verdict, ...] = (DIVERGES, UNDECIDED, REPEATS)
_NOT_COMPARED = "what the runs printed, and the files that they left, were not compared"


@dataclass(frozen=True)
class NodeRun:
    """A run that was made on a node: `node` is for people, `node_id` tells any two apart."""

    name: str
    node: str
    node_id: str
    recording: Path
    result: RunResult

    @property
    def whole(self) -> bool:
        """It came to its end, and something was observed."""
        return self.result.reason is None and self.result.exit_code == 0


@dataclass(frozen=True)
class Group:
    """The runs of one environment key."""

    environment: str
    runs: tuple[NodeRun, ...]


def by_environment(runs: Iterable[NodeRun]) -> list[Group]:
    """The whole runs by their key, the largest group first. Where part of a key could not be read, only runs of one node
    are known to be alike."""
    found: dict[tuple[str, str], list[NodeRun]] = {}
    names: dict[tuple[str, str], str] = {}
    for run in (run for run in runs if run.whole):
        key = Environment.from_json(read_manifest(run.recording).environment).key
        place = (key.digest, run.node_id if key.unread else "")
        found.setdefault(place, []).append(run)
        names[place] = key.name
    groups = [Group(names[place], tuple(alike)) for place, alike in found.items()]
    return sorted(groups, key=lambda group: -len(group.runs))


def judge_runs(
    options: CheckOptions, runs: Sequence[NodeRun], unfinished: Reason | None = None
) -> CheckResult:
    """One result of all runs. `unfinished`: why there are not as many as were asked for."""
    groups = by_environment(runs)
    answers = [_judge(options, group, groups[0]) for group in groups]
    nothing = CheckResult(str(options.program), UNDECIDED, contract=str(options.contract))
    result = min((answer for answer, _ in answers), key=_rank, default=nothing)
    failed = next((run for run in runs if not run.whole), None)
    if result.verdict != DIVERGES and failed is not None:
        result = result.replace(
            verdict=UNDECIDED,
            reason=_failure(failed),
            reason_kind=failed.result.reason_kind,
            output_tail=failed.result.output_tail,
        )
    elif result.verdict != DIVERGES and unfinished is not None:
        result = result.replace(verdict=UNDECIDED, reason=unfinished.message, reason_kind=unfinished.kind)
    facts = [run.result.facts for run in runs]
    result = judge_replicas(result, [(run.recording, run.result.facts) for run in runs if run.whole])
    result = agree_by_luck(result, facts)
    if result.verdict == DIVERGES:
        missing = [_failure(run) for run in runs if not run.whole]
        missing += [unfinished.message] if unfinished is not None else []
        result = result.replace(findings=(*result.findings, *noticed(facts)), notes=(*result.notes, *missing))
    elif failed is not None:
        result = result.replace(findings=failed.result.findings)
    known = next((each for each in facts if each.environment), None)
    notes = [note for each in facts for note in each.notes]
    notes += [
        f"runs on {node} shared one folder, and each may have seen the files of others"
        for node in _shared(runs)
    ]
    return result.replace(
        program=str(options.program),
        runs=len(runs),
        by_environment=tuple(summary for _, summary in answers),
        environment=result.environment or (known.environment if known else {}),
        controls=msgspec.to_builtins(known.controls, enc_hook=str) if known else {},
        recordings=tuple(str(run.recording) for run in runs),
        notes=tuple(dict.fromkeys([*result.notes, *notes, *([_NOT_COMPARED] if groups else [])])),
    )  # fmt: skip


def _failure(run: NodeRun) -> str:
    return f"run {run.name} on {run.node}: {run.result.reason}"


def _rank(result: CheckResult) -> int:
    return _GRAVEST.index(result.verdict)


def _shared(runs: Iterable[NodeRun]) -> list[str]:
    return list(dict.fromkeys(run.node for run in runs if run.result.view == "shared"))


def _judge(options: CheckOptions, group: Group, largest: Group) -> tuple[CheckResult, EnvironmentRuns]:
    """The runs of a group against its first one, and how that compares with the first of the largest group."""
    first, *others = group.runs
    compared = [(other.name, _compare(first, other, options.contract)) for other in others]
    if compared:
        result = min((each for _, each in compared), key=_rank)
    else:
        why = (
            f"a single run was made in the environment {group.environment}: there is none to compare it with"
        )
        result = CheckResult.of(
            str(options.program), UNDECIDED, Reason("not-comparable", why), contract=str(options.contract)
        )
    summary = EnvironmentRuns(
        group.environment,
        result.verdict,
        tuple(run.name for run in group.runs),
        tuple(dict.fromkeys(run.node for run in group.runs)),
        steps=result.steps_compared,
        reason=result.reason,
        differing=tuple(name for name, each in compared if each.verdict == DIVERGES),
        against_first=""
        if group is largest
        else _against(_compare(largest.runs[0], first, options.contract)),
    )
    return result, summary


def _compare(one: NodeRun, other: NodeRun, contract: Contract) -> CheckResult:
    return compare_recordings(one.recording, other.recording, contract, (one.name, other.name))


def _against(result: CheckResult) -> str:
    """How two environments compare, in words."""
    if result.verdict == REPEATS:
        return f"equal {result.within}"
    first = result.first_difference or result.first_bit_difference
    where = f"from step {first.step} on" if first is not None else "in some way"
    why = [each.sentence for each in result.environment_differences or ()][:1]
    return ": ".join([f"different {where}", *(why or ([result.reason] if result.reason else []))])
