"""What changed between a baseline and a run that differs from it: the environment, the command line, the commits, or
nothing, where the program does not repeat at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from twinrun import git
from twinrun.baselines.baseline import Baseline, without_installed
from twinrun.baselines.judgement import compare_runs
from twinrun.baselines.kept_run import KeptRun
from twinrun.baselines.outcome import BaselineResult
from twinrun.environment.difference import NOTHING, Difference, differences
from twinrun.environment.environment import Environment
from twinrun.findings import catalogue
from twinrun.findings.finding import Finding
from twinrun.masking import MASK
from twinrun.result import DIVERGES, REPEATS

MOST_COMMITS = 20


def explained(
    result: BaselineResult, baseline: Baseline, run: KeptRun, second: KeptRun | None
) -> BaselineResult:
    """The result with what changed since the baseline; `second` is another run, made to see whether the program
    repeats."""
    changed = tuple(each for each in between(baseline.environment, run.environment) if each.group != NOTHING)
    then = commit_of(baseline.environment)
    commits, unknown = commits_between(then, commit_of(run.environment), Path.cwd())
    notes = list(result.notes)
    if unknown and then not in (None, "none"):
        notes.append(f"commits between: {unknown}")
    findings = (*(each.as_finding() for each in changed), *_other_command(baseline, run))
    if second is not None:
        notes.append(_repeats_here(run, second))
    if not findings:
        notes.append(
            "nothing that Twinrun reads changed since the baseline: neither code nor data nor packages"
        )
    if any(MASK in word for word in (*baseline.arguments, *run.arguments)):
        notes.append("arguments that are masked are not known, and were not compared")
    command = f"twinrun baseline accept {run.program} --name {baseline.name} --reason '…'"
    details = msgspec.structs.replace(
        result.baseline, differences=changed, commits=tuple(commits), commands=(command,)
    )
    return result.replace(findings=findings, notes=tuple(notes), baseline=details)


def between(then: Environment, now: Environment) -> list[Difference]:
    """A baseline does not keep the packages that are merely installed."""
    return differences(without_installed(then), without_installed(now))


def _other_command(baseline: Baseline, run: KeptRun) -> Iterator[Finding]:
    """The baseline was recorded with other arguments, steps or pins than this run."""
    for what in ("arguments", "steps", "pin"):
        then, now = (getattr(side, what) for side in (baseline, run))
        if what == "arguments":
            then, now = map(list, (then, now) if _known_to_differ(then, now) else ((), ()))
        if then != now:
            message = f"the baseline was recorded with {what} {then}, this run has {now}"
            yield catalogue.finding("TW506", message, evidence=[f"{what}: {then} against {now}"])


def _known_to_differ(then: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """What is masked on one side may be what stands on the other."""
    pairs = zip(then, now, strict=False)
    return len(then) != len(now) or any(a != b and MASK not in a + b for a, b in pairs)


def _repeats_here(first: KeptRun, second: KeptRun) -> str:
    """A second run here and now: other bits than the first mean that the program does not repeat at all."""
    result = compare_runs(first, second, "bitwise")
    if result.verdict == REPEATS:
        return (
            "a second run here gave the same bits as the first: the program repeats, its result has changed"
        )
    found = result.first_difference
    if result.verdict != DIVERGES or found is None:
        return f"whether the program repeats is not known: {result.reason}"
    process = f" of {found.process}" if found.process else ""
    where = f"from step {found.step}{process} on ({found.phase}: {found.tensor})"
    return f"two runs here differ {where}: the program does not repeat; `twinrun check` names the cause"


def commit_of(environment: Environment) -> str | None:
    state = environment.get("code", "git", {})
    commit = state.get("commit") if isinstance(state, dict) else None
    return commit if isinstance(commit, str) else None


def commits_between(then: str | None, now: str | None, folder: Path) -> tuple[list[str], str | None]:
    """(`abc1234 subject` lines, newest first; why they are not known). Without any commit between, neither."""
    if not _is_commit(then) or not _is_commit(now):
        return [], "the baseline or this run was not made from a commit"
    if then == now:
        return [], None
    words = ("--no-decorate", f"--max-count={MOST_COMMITS + 1}", "--format=%h %s", f"{then}..{now}")
    listed = git.ask(folder, "log", *words)
    if listed is None:
        return [], f"the baseline's commit {str(then)[:10]} is not in this clone: fetch the whole history"
    lines = listed.splitlines()
    if not lines:
        return [], f"this run's commit is older than the baseline's ({str(then)[:10]})"
    return lines[:MOST_COMMITS] + ["… and more"] * (len(lines) > MOST_COMMITS), None


def _is_commit(text: str | None) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{7,64}", text) is not None
