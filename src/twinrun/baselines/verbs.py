"""Record, check, accept and list: what is done with the baselines of one name."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twinrun.baselines.baseline import Baseline, baseline_of, evidence
from twinrun.baselines.commits import commits_between
from twinrun.baselines.file import as_text, from_text, number
from twinrun.baselines.judge import Judgement, first_bits, judge
from twinrun.baselines.observed import Observed
from twinrun.baselines.result import BaselineResult
from twinrun.baselines.store import Store, checked_name, file_of
from twinrun.environment.difference import BITS, NOTHING, Difference, comparable_bitwise, differences
from twinrun.environment.environment import Environment
from twinrun.errors import BadBaseline, UsageError
from twinrun.findings.finding import Finding
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult


@dataclass(frozen=True)
class Listed:
    """One file of a store, or why it cannot be read."""

    name: str
    file: str
    baseline: Baseline | None
    problem: str | None = None


def record(store: Store, name: str, contract: str, observed: Observed) -> BaselineResult:
    """Keeps a run as the baseline of its environment. One that is there already is never replaced by this."""
    checked_name(name)
    _readable_key(observed.environment)
    file = file_of(observed.environment.key)
    new = baseline_of(name, contract, observed, _now())
    unchanged = False

    def change(there: str | None) -> str:
        nonlocal unchanged
        if there is None:
            return as_text(new)
        old = _believed(there, name, observed.environment, f"{store.location}/{name}/{file}")
        bits, _ = first_bits(old, observed)
        if bits is None and old.contract == contract:
            unchanged = True
            return there
        what = "with other bits" if bits is not None else f"with the contract {old.contract}"
        raise UsageError(
            f"{name} has a baseline for {old.environment.name} already, {what}",
            hint="to replace it: twinrun baseline accept … --reason '…'",
        )

    store.change(name, file, change)
    action = "unchanged" if unchanged else "recorded"
    return _result(store, name, observed, new, Judgement(REPEATS, steps=new.last_step), action=action)


def accept(
    store: Store, name: str, reason: str, observed: Observed, contract: str | None = None
) -> BaselineResult:
    """Replaces the baseline of this environment; the reason and what was replaced stay in its history."""
    checked_name(name)
    if not reason.strip():
        raise UsageError(
            "why is the change accepted?", hint="--reason 'new learning rate, see the pull request'"
        )
    _readable_key(observed.environment)
    file = file_of(observed.environment.key)
    written: list[Baseline] = []

    def change(there: str | None) -> str:
        entry: dict[str, Any] = {"when": _now(), "reason": reason.strip()}
        old: Baseline | None = None
        if there is not None:
            try:
                old = _believed(there, name, observed.environment, f"{store.location}/{name}/{file}")
            except BadBaseline as problem:
                entry["replaced"] = {"damaged": problem.message}
        if old is not None:
            commit = _commit(old.environment)
            metrics = {metric: number(value) for metric, value in old.metrics.items()}
            entry["replaced"] = {
                "final": old.final,
                "recorded": old.recorded,
                "commit": commit,
                "metrics": metrics,
            }
        kept = contract or (old.contract if old else "bitwise")
        history = (*(old.history if old else ()), entry)
        written.append(baseline_of(name, kept, observed, _now(), history))
        return as_text(written[-1])

    store.change(name, file, change)
    return _result(
        store, name, observed, written[-1], Judgement(REPEATS, steps=written[-1].last_step), action="accepted"
    )


def check(
    store: Store, name: str, observed: Observed, again: Callable[[], Observed | None] | None = None
) -> BaselineResult:
    """Holds a run against the baseline of its environment. `again` runs the program once more: when the bits
    left
    the baseline, it tells a program that changed from one that does not repeat."""
    checked_name(name)
    file = file_of(observed.environment.key)
    where = f"{store.location}/{name}/{file}"
    text = store.read(name, file)
    if text is None:
        return _no_baseline(store, name, observed)
    if "unread" in observed.environment.key.facts.values():
        return _result(store, name, observed, None, Judgement(UNDECIDED, _unread(observed.environment)))
    baseline = _believed(text, name, observed.environment, where)
    judgement = judge(baseline, observed)
    result = _result(store, name, observed, baseline, judgement)
    if judgement.verdict != DIVERGES:
        return result
    return _explained(result, baseline, observed, again() if again else None)


def listing(store: Store, name: str | None = None) -> list[Listed]:
    """Every baseline, damaged ones too."""
    found = []
    for each in [checked_name(name)] if name else store.names():
        for file in store.files(each):
            text = store.read(each, file)
            try:
                baseline = from_text(text or "", f"{each}/{file}")
                found.append(Listed(each, file, baseline))
            except BadBaseline as problem:
                found.append(Listed(each, file, None, problem.message))
    return found


def find(store: Store, name: str) -> list[Baseline]:
    """The baselines of a name that can be read."""
    return [each.baseline for each in listing(store, name) if each.baseline is not None]


def _believed(text: str, name: str, environment: Environment, where: str) -> Baseline:
    """Reads a file that should be this name's and this key's: one that was moved there is not believed."""
    baseline = from_text(text, where)
    if baseline.name != name:
        raise BadBaseline(
            f"{where} is a baseline of {baseline.name!r}, not of {name!r}", hint="was it copied or moved?"
        )
    if baseline.environment.key != environment.key:
        raise BadBaseline(f"{where} is a baseline of another environment", hint="was it copied or renamed?")
    return baseline


def _readable_key(environment: Environment) -> None:
    if "unread" in environment.key.facts.values():
        raise UsageError(_unread(environment), hint="see `twinrun env show` for what could not be read")


def _unread(environment: Environment) -> str:
    blind = sorted(name for name, value in environment.key.facts.items() if value == "unread")
    return f"the environment key is not whole: {', '.join(blind)} could not be read"


def _no_baseline(store: Store, name: str, observed: Observed) -> BaselineResult:
    """Not a pass and not a failure: which keys exist, what differs from the nearest, and how to record
    one."""
    here = observed.environment
    entries = listing(store, name)
    known = [each.baseline for each in entries if each.baseline is not None]
    damaged = [each.problem for each in entries if each.problem is not None]
    others = tuple(sorted(each.environment.name for each in known))
    command = f"twinrun baseline record {observed.program} --name {name}"
    if not known:
        reason = f"there is no baseline {name!r} yet in {store.location}"
        judged = Judgement(UNDECIDED, reason)
        result = _result(store, name, observed, None, judged)
        return replace(
            result, commands=(command,), check=replace(result.check, notes=(*result.check.notes, *damaged))
        )
    apart = {each.environment.name: _between(each.environment, here) for each in known}
    nearest = min(apart, key=lambda key: (sum(d.group == BITS for d in apart[key]), len(apart[key]), key))
    first = next(each for each in apart[nearest] if each.group == BITS)
    reason = (
        f"no baseline {name!r} for this environment ({here.name}); the nearest is {nearest}: {first.sentence}"
    )
    result = _result(store, name, observed, None, Judgement(UNDECIDED, reason))
    shown = tuple(each for each in apart[nearest] if each.group != NOTHING)
    findings = tuple(each.as_finding() for each in shown if each.group == BITS)
    checked = replace(result.check, findings=findings, notes=(*result.check.notes, *damaged))
    return replace(
        result, check=checked, others=others, nearest=nearest, differences=shown, commands=(command,)
    )


def _between(then: Environment, now: Environment) -> list[Difference]:
    return differences(evidence(then), evidence(now))


def _explained(
    result: BaselineResult, baseline: Baseline, observed: Observed, second: Observed | None
) -> BaselineResult:
    """What changed since: the environment's fields, the commits between; and whether the program repeats at
    all."""
    apart = tuple(
        each for each in _between(baseline.environment, observed.environment) if each.group != NOTHING
    )
    commits, unknown = commits_between(
        _commit(baseline.environment), _commit(observed.environment), Path.cwd()
    )
    notes = list(result.check.notes)
    if unknown and _commit(baseline.environment) not in (None, "none"):
        notes.append(f"commits between: {unknown}")
    findings = [each.as_finding() for each in apart]
    findings += _asked_otherwise(baseline, observed)
    if second is not None:
        notes.append(_repeats_here(observed, second))
    if not findings:
        notes.append(
            "nothing that Twinrun reads changed since the baseline: neither code nor data nor packages"
        )
    checked = replace(result.check, findings=tuple(findings), notes=tuple(notes))
    command = f"twinrun baseline accept {observed.program} --name {result.name} --reason '…'"
    return replace(result, check=checked, differences=apart, commits=tuple(commits), commands=(command,))


def _asked_otherwise(baseline: Baseline, observed: Observed) -> list[Finding]:
    """The baseline was recorded with other arguments, steps or pins than this run."""
    asked = {
        "arguments": (list(baseline.arguments), list(observed.arguments)),
        "steps": (baseline.steps, observed.steps),
        "pin": (baseline.pin, observed.pin),
    }
    found = []
    for what, (then, now) in asked.items():
        if then != now:
            message = f"the baseline was recorded with {what} {then}, this run has {now}"
            found.append(
                Finding("TW506", "code-or-data", message, evidence=(f"{what}: {then} against {now}",))
            )
    return found


def _repeats_here(first: Observed, second: Observed) -> str:
    """A second run here and now: other bits than the first mean that the program does not repeat at all."""
    parted, _ = first_bits(baseline_of("again", "bitwise", first, ""), second)
    if parted is None:
        return (
            "a second run here gave the same bits as the first: the program repeats, its result has changed"
        )
    where = f"from step {parted.step} on ({parted.phase}: {parted.tensor})"
    return f"two runs here differ {where}: the program does not repeat; `twinrun check` names the cause"


def _result(
    store: Store,
    name: str,
    observed: Observed,
    baseline: Baseline | None,
    judgement: Judgement,
    *,
    action: str = "checked",
) -> BaselineResult:
    environment = observed.environment
    notes = []
    if (
        baseline is not None
        and action == "checked"
        and not comparable_bitwise(baseline.environment, environment)
    ):
        notes.append("the environments are not comparable bit for bit")
    checked = CheckResult(
        program=observed.program,
        verdict=judgement.verdict,
        reason=judgement.reason,
        contract=baseline.contract if baseline else "bitwise",
        runs=1,
        steps_compared=judgement.steps,
        first_difference=judgement.first,
        bits_differ_from=judgement.bits,
        environment=environment.as_json(),
        recordings=(observed.recording,) if observed.recording else (),
        notes=tuple(notes),
    )
    return BaselineResult(
        check=checked,
        name=name,
        action=action,
        key=environment.name,
        store=store.location,
        file=None if baseline is None else f"{name}/{file_of(environment.key)}",
        history=() if baseline is None else baseline.history,
    )


def _commit(environment: Environment) -> str | None:
    git = environment.get("code", "git", {})
    commit = git.get("commit") if isinstance(git, dict) else None
    return commit if isinstance(commit, str) else None


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
