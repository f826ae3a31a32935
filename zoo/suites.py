"""Judges the answers about the suites: programs that hide what differs, programs that only look so, and real
programs with several causes each."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifest import Cause, Program
from scoring import place_of

MEDIAN_AT_MOST = 60.0
PLACE = re.compile(r"([\w./-]+\.py):(\d+)")


@dataclass(frozen=True)
class Answer:
    """One answer of `twinrun check`, held against the label of a program of a suite."""

    name: str
    suite: str
    said: str
    """The verdict given; empty when there was none."""
    verdict: bool
    findings: int
    missed: tuple[str, ...]
    """The codes of the causes that no finding names."""
    false: tuple[str, ...]
    """Findings that name no true cause: those confirmed, and any at all where there is nothing to find."""
    doubtful: tuple[str, ...]
    """Findings that are only likely and name no true cause."""
    seconds: float
    trouble: str

    def right(self, loaded: bool) -> bool:
        """Under load an answer may know less, but it may not be wrong or empty."""
        if self.suite == "real" and loaded:
            return self.verdict and not self.false and self.findings > 0
        return self.verdict and not self.false and not self.missed


def places_of(finding: dict[str, Any], folder: Path) -> list[str]:
    """Where a finding points: its own place, and the further ones that its evidence lists."""
    listed = [
        place_of({"file": file, "line": line}, folder)
        for text in finding.get("evidence") or ()
        for file, line in PLACE.findall(str(text))
    ]
    own = place_of(finding, folder)
    return [own, *listed] if own else listed


def names(finding: dict[str, Any], cause: Cause, folder: Path) -> bool:
    """Whether the finding has an accepted code of the cause and points to one of its lines."""
    if finding.get("code") not in cause.codes:
        return False
    return not cause.lines or any(cause.blames(place) for place in places_of(finding, folder))


def judge_suite(
    program: Program, folder: Path, document: dict[str, Any] | None, trouble: str, seconds: float
) -> Answer:
    """Compare the answer with the label."""
    answer = document or {}
    findings: list[dict[str, Any]] = list(answer.get("findings") or [])
    missed: list[str] = []
    false: list[dict[str, Any]] = []
    doubtful: list[dict[str, Any]] = []
    if program.group == "innocent":
        false = findings
    elif program.group == "guilty":
        missed = [c.codes[0] for c in program.causes if not any(names(f, c, folder) for f in findings)]
        stray = [f for f in findings if not any(names(f, cause, folder) for cause in program.causes)]
        false = [f for f in stray if f.get("confirmed")]
        doubtful = [f for f in stray if not f.get("confirmed")]
    said = str(answer.get("verdict", ""))
    kind = answer.get("reason_kind")
    if said == "undecided" and program.kinds and kind not in program.kinds:
        trouble = trouble or f"undecided for another reason: {kind}"
    if said not in program.verdicts:
        trouble = trouble or str(answer.get("reason") or "")[:200]
    return Answer(
        name=program.name,
        suite=program.suite,
        said=said,
        verdict=said in program.verdicts and not trouble,
        findings=len(findings),
        missed=tuple(missed),
        false=tuple(f"{f.get('code')} {place_of(f, folder)}".strip() for f in false),
        doubtful=tuple(f"{f.get('code')} {place_of(f, folder)}".strip() for f in doubtful),
        seconds=seconds,
        trouble=trouble,
    )


def table(answers: list[Answer], loaded: bool) -> list[str]:
    """One line per program."""
    lines = [f"{'program':26} {'':5} {'verdict':10} {'findings':>8} {'s':>6}  remarks"]
    for a in answers:
        remarks = [a.trouble] if a.trouble else []
        if a.missed:
            remarks.append("missed " + ", ".join(a.missed))
        if a.false:
            remarks.append("false " + ", ".join(a.false))
        if a.doubtful:
            remarks.append("likely " + ", ".join(a.doubtful))
        mark = "ok" if a.right(loaded) else "WRONG"
        line = f"{a.name:26} {mark:5} {a.said or 'none':10} {a.findings:8} {a.seconds:6.1f}  {'; '.join(remarks)}"
        lines.append(line.rstrip())
    times = [a.seconds for a in answers]
    lines.append("")
    lines.append(
        f"{sum(a.right(loaded) for a in answers)} of {len(answers)} right, {sum(times):.0f} s in all, "
        f"median {statistics.median(times):.1f} s, longest {max(times):.1f} s"
    )
    return lines


def suites_must_hold(answers: list[Answer], loaded: bool) -> list[tuple[str, bool]]:
    """The promises about the suites, each with whether it was kept."""
    hide = [a for a in answers if a.suite == "hide"]
    looks = [a for a in answers if a.suite == "looks"]
    real = [a for a in answers if a.suite == "real"]
    held = []
    if hide:
        held.append(("nothing that differs is called repeats", all(a.verdict for a in hide)))
    if looks:
        held.append(("no false alarm", all(a.verdict and not a.false for a in looks)))
    if real:
        held.append(("every real program diverges", all(a.verdict for a in real)))
        held.append(("nothing false is confirmed", not any(a.false for a in real)))
        if loaded:
            held.append(("no answer is empty", all(a.findings for a in real)))
        else:
            held.append(("every cause is named", not any(a.missed for a in real)))
            middle = statistics.median(a.seconds for a in real)
            held.append((f"the median is at most {MEDIAN_AT_MOST:.0f} s", middle <= MEDIAN_AT_MOST))
    return held
