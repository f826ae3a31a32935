"""Record, check, accept and list the baselines of one name."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from twinrun.baselines.baseline import Baseline, as_text, baseline_of, finite, from_text
from twinrun.baselines.changes import between, commit_of, explained
from twinrun.baselines.judgement import compare_runs
from twinrun.baselines.kept_run import KeptRun
from twinrun.baselines.outcome import BaselineDetails, BaselineResult
from twinrun.baselines.store import Store, checked_name, file_of
from twinrun.environment.difference import BITS, NOTHING
from twinrun.environment.environment import EnvironmentKey
from twinrun.environment.verdict import as_shown
from twinrun.errors import BadBaseline, UsageError
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason


@dataclass(frozen=True)
class Listed:
    """One file of a store, or why it cannot be read."""

    name: str
    file: str
    baseline: Baseline | None
    problem: str | None = None


def record(store: Store, name: str, contract: str, run: KeptRun) -> BaselineResult:
    """Keeps a run as the baseline of its environment. This never replaces one that is there already."""
    file = _target(name, run)
    itself = compare_runs(run, run, "bitwise")
    if itself.verdict != REPEATS:  # a process that it started cannot be compared, not even with itself
        return _result(store, name, run, itself)
    new = baseline_of(name, contract, run, _now())
    action = "recorded"

    def change(there: str | None) -> str:
        nonlocal action
        if there is None:
            return as_text(new)
        old = _read(there, store, name, run.environment.key)
        found = compare_runs(old, run, "bitwise")
        if found.verdict == REPEATS and old.contract == contract:
            action = "unchanged"
            return there
        what = f"with the contract {old.contract}" if found.verdict == REPEATS else "with other bits"
        if found.verdict == UNDECIDED:
            what = f"and whether this run equals it is not known: {found.reason}"
        raise UsageError(
            f"{name} has a baseline for {old.environment.name} already, {what}",
            hint="to replace it: twinrun baseline accept … --reason '…'",
        )

    store.change(name, file, change)
    return _result(store, name, run, itself, new, action)


def accept(store: Store, name: str, reason: str, run: KeptRun, contract: str | None = None) -> BaselineResult:
    """Replaces the baseline of this environment; the reason and what was replaced stay in its history."""
    file = _target(name, run)
    if not reason.strip():
        raise UsageError(
            "why is the change accepted?", hint="--reason 'new learning rate, see the pull request'"
        )
    itself = compare_runs(run, run, "bitwise")
    if itself.verdict != REPEATS:  # a process that it started cannot be compared, not even with itself
        return _result(store, name, run, itself)
    new = baseline_of(name, contract or "bitwise", run, _now())

    def change(there: str | None) -> str:
        nonlocal new
        entry: dict[str, Any] = {"when": new.recorded, "reason": reason.strip()}
        history: tuple[dict[str, Any], ...] = ()
        kept = new.contract
        if there is not None:
            try:
                old = _read(there, store, name, run.environment.key)
                entry["replaced"] = _summary(old)
                history, kept = old.history, contract or old.contract
            except BadBaseline as problem:
                entry["replaced"] = {"damaged": problem.message}
        new = baseline_of(name, kept, run, new.recorded, (*history, entry))
        return as_text(new)

    store.change(name, file, change)
    return _result(store, name, run, itself, new, "accepted")


def _summary(replaced: Baseline) -> dict[str, Any]:
    return {
        "final": replaced.rows[-1].chain if replaced.rows else None,
        "recorded": replaced.recorded,
        "commit": commit_of(replaced.environment),
        "metrics": finite(replaced.metrics),
    }


def check(
    store: Store, name: str, run: KeptRun, again: Callable[[], KeptRun | None] | None = None
) -> BaselineResult:
    """Compares a run with the baseline of its environment. `again` runs the program once more where they differ,
    to tell a program that changed from one that does not repeat."""
    key = run.environment.key
    text = store.read(checked_name(name), file_of(key))
    if text is None:
        return _no_baseline(store, name, run)
    if key.unread:
        return _undecided(store, name, run, Reason("not-instrumented", _unread(key)))
    baseline = _read(text, store, name, key)
    found = compare_runs(baseline, run, baseline.contract)
    result = _result(store, name, run, found, baseline)
    if result.verdict != DIVERGES:
        return result
    return explained(result, baseline, run, again() if again else None)


def listing(store: Store, name: str | None = None) -> list[Listed]:
    """Every baseline, damaged ones too."""
    found = []
    for each in [checked_name(name)] if name else store.names():
        for file in store.files(each):
            try:
                text = store.read(each, file)
                found.append(Listed(each, file, from_text(text or "", f"{each}/{file}")))
            except BadBaseline as problem:
                found.append(Listed(each, file, None, problem.message))
    return found


def find(store: Store, name: str) -> list[Baseline]:
    """The baselines of a name that can be read."""
    return [each.baseline for each in listing(store, name) if each.baseline is not None]


def _target(name: str, run: KeptRun) -> str:
    """The file to write, which needs a name that is allowed and a key that could be read."""
    checked_name(name)
    key = run.environment.key
    if key.unread:
        raise UsageError(_unread(key), hint="see `twinrun env show` for what could not be read")
    return file_of(key)


def _unread(key: EnvironmentKey) -> str:
    return f"the environment key is incomplete: {', '.join(key.unread)} could not be read"


def _read(text: str, store: Store, name: str, key: EnvironmentKey) -> Baseline:
    """Reads a file that should be of this name and key: one that was moved there is refused."""
    where = f"{store.location}/{name}/{file_of(key)}"
    baseline = from_text(text, where)
    if (baseline.name, baseline.environment.key) != (name, key):
        whose = f"{baseline.name!r}, not of {name!r}" if baseline.name != name else "another environment"
        raise BadBaseline(f"{where} is a baseline of {whose}", hint="was it copied, moved or renamed?")
    return baseline


def _no_baseline(store: Store, name: str, run: KeptRun) -> BaselineResult:
    """Not a pass and not a failure: which keys exist, what differs from the nearest, and how to record one."""
    here = run.environment
    entries = listing(store, name)
    known = [each.baseline.environment for each in entries if each.baseline is not None]
    changed = {each.name: between(each, here) for each in known}
    nearest = min(
        changed,
        key=lambda key: (sum(d.group == BITS for d in changed[key]), len(changed[key]), key),
        default=None,
    )
    shown = [each for each in changed[nearest] if each.group != NOTHING] if nearest else []
    reason = f"there is no baseline {name!r} yet in {store.location}"
    if nearest:
        missing = f"no baseline {name!r} for this environment ({here.name})"
        reason = f"{missing}; the nearest is {nearest}: {shown[0].sentence}"
    result = _undecided(store, name, run, Reason("no-baseline", reason))
    details = structs.replace(
        result.baseline,
        other_keys=tuple(sorted(changed)),
        nearest=nearest,
        differences=tuple(shown),
        commands=(f"twinrun baseline record {run.program} --name {name}",),
    )
    return result.replace(
        findings=tuple(each.as_finding() for each in shown if each.group == BITS),
        notes=tuple(each.problem for each in entries if each.problem is not None),
        baseline=details,
    )


def _undecided(store: Store, name: str, run: KeptRun, reason: Reason) -> BaselineResult:
    return _result(store, name, run, CheckResult.of("", UNDECIDED, reason))


def _result(
    store: Store,
    name: str,
    run: KeptRun,
    found: CheckResult,
    baseline: Baseline | None = None,
    action: str = "checked",
) -> BaselineResult:
    environment = run.environment
    file = None if baseline is None else f"{name}/{file_of(environment.key)}"
    history = () if baseline is None else baseline.history
    about = found.replace(
        program=run.program,
        contract=baseline.contract if baseline else "bitwise",
        runs=1,
        environment=environment.as_json(),
        environment_differences=as_shown(between(baseline.environment, environment)) if baseline else None,
        recordings=(run.recording,) if run.recording else (),
    )
    details = BaselineDetails(name, action, environment.name, store.location, file, history=history)
    return BaselineResult(**structs.asdict(about), baseline=details)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
