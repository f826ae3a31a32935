"""Judges one answer of `twinrun check` against a program's label, and sums the judgements up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifest import Program

EXIT_OF = {"repeats": 0, "diverges": 1, "undecided": 2}
CODES_AT_LEAST = 0.95
LINES_AT_LEAST = 0.90


@dataclass(frozen=True)
class Score:
    """What was right about one answer. None where the question does not arise."""

    name: str
    file: str
    family: str
    group: str
    heldout: bool
    verdict: bool
    code: bool | None
    """The first finding names a true cause; of a clean program: there is no finding."""
    line: bool | None
    confirmed: bool | None
    every: bool | None
    """Where there are several causes: all of them were found."""
    first: str
    place: str
    seconds: float
    trouble: str

    @property
    def right(self) -> bool:
        """Nothing that must hold failed for this program."""
        if self.group == "advisory":
            return self.verdict
        return self.verdict and self.code is not False and self.line is not False and self.every is not False


def place_of(finding: dict[str, Any], folder: Path) -> str:
    """The finding's file:line, relative to the program's folder where it lies in it."""
    file, line = finding.get("file"), finding.get("line")
    if not file or not line:
        return ""
    path = Path(file)
    if path.is_absolute():
        path = path.resolve()
        if path.is_relative_to(folder.resolve()):
            path = path.relative_to(folder.resolve())
    return f"{path.as_posix().removeprefix('./')}:{line}"


def judge(
    program: Program, folder: Path, document: dict[str, Any] | None, trouble: str, seconds: float
) -> Score:
    """Compare the answer with the label."""
    answer = document or {}
    findings: list[dict[str, Any]] = list(answer.get("findings") or [])
    verdict = answer.get("verdict") in program.verdicts and not trouble
    first = findings[0] if findings else {}
    place = place_of(first, folder) if first else ""
    code: bool | None = None
    line: bool | None = None
    confirmed: bool | None = None
    every: bool | None = None
    if program.group == "innocent":
        code = not findings
    elif program.causes:
        named = [cause for cause in program.causes if first.get("code") in cause.codes]
        code = bool(named)
        if any(cause.lines for cause in program.causes):
            line = bool(place) and any(cause.blames(place) for cause in (named or program.causes))
        confirmed = bool(first.get("confirmed"))
        if len(program.causes) > 1:
            codes = {finding.get("code") for finding in findings}
            every = all(codes & set(cause.codes) for cause in program.causes)
    return Score(
        name=program.name,
        file=program.root.name,
        family=program.family,
        group=program.group,
        heldout=program.heldout,
        verdict=verdict,
        code=code,
        line=line,
        confirmed=confirmed,
        every=every,
        first=str(first.get("code", "")),
        place=place,
        seconds=seconds,
        trouble=trouble,
    )


def count_by_family(scores: list[Score]) -> dict[str, tuple[int, int]]:
    """How many of each code's programs were right, and how many there are."""
    count = Counter(s.family for s in scores)
    right = Counter(s.family for s in scores if s.right)
    return {family: (right[family], count[family]) for family in sorted(count)}


def _share(flags: list[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}" + (f" ({sum(flags) / len(flags):.0%})" if flags else "")


def totals(scores: list[Score]) -> list[str]:
    """One line per group, and the time it all took."""
    guilty = [s for s in scores if s.group == "guilty"]
    lines = []
    if guilty:
        lines += [
            f"guilty     {_share([s.verdict for s in guilty])} verdicts right",
            f"           {_share([bool(s.code) for s in guilty])} first codes right",
            f"           {_share([s.line for s in guilty if s.line is not None])} lines right",
            f"           {_share([bool(s.confirmed) for s in guilty])} confirmed",
        ]
        several = [s.every for s in guilty if s.every is not None]
        if several:
            lines.append(f"           {_share(several)} with several causes had all of them found")
    for group, what in (("innocent", "no finding"), ("advisory", "shown"), ("undecided", "")):
        of = [s for s in scores if s.group == group]
        if of:
            text = f"{group:10} {_share([s.verdict for s in of])} verdicts right"
            if what:
                text += f", {_share([bool(s.code) for s in of])} {what}"
            lines.append(text)
    times = sorted(s.seconds for s in scores)
    middle = times[len(times) // 2]
    lines.append(f"time       {sum(times):.0f} s in all, median {middle:.1f} s, longest {times[-1]:.1f} s")
    return lines


def must_hold(scores: list[Score], limit: float) -> list[tuple[str, bool]]:
    """The promises about the zoo, each with whether it was kept."""
    guilty = [s for s in scores if s.group == "guilty"]
    codes = [bool(s.code) for s in guilty]
    lines = [s.line for s in guilty if s.line is not None]
    clean = [bool(s.code) for s in scores if s.group == "innocent"]
    held = [("the verdict is right in all", all(s.verdict for s in scores))]
    if codes:
        held.append(("the first code is right in at least 95 %", sum(codes) >= CODES_AT_LEAST * len(codes)))
    if lines:
        held.append(("the line is right in at least 90 %", sum(lines) >= LINES_AT_LEAST * len(lines)))
    if clean:
        held.append(("no finding on any clean program", all(clean)))
    held.append((f"no check takes longer than {limit:.0f} s", all(s.seconds <= limit for s in scores)))
    return held
