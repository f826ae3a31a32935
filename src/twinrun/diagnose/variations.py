"""When varied twins differ: which of the variations is guilty, and which line makes it matter."""

from __future__ import annotations

from dataclasses import replace

from twinrun.diagnose.evidence import Evidence, Row, differs, one
from twinrun.diagnose.experiments import Laboratory, Trial
from twinrun.diagnose.ops import first_culprit
from twinrun.diagnose.places import relative
from twinrun.diagnose.source import Source
from twinrun.diagnose.suspect import Candidate
from twinrun.diagnose.wording import finding_of
from twinrun.findings.finding import Finding
from twinrun.launch.vary import TIME_OF_DAY, Variation

_CODES = {"hashseed": "TW301", "fileorder": "TW302", "threads": "TW402", "timezone": "TW303", "clock": "TW303",
          "load": "TW403"}  # fmt: skip
_MESSAGES = {
    "hashseed": "the order of a set, or a value of hash(), reaches training",
    "fileorder": "the order in which a directory is listed reaches training",
    "threads": "the bits depend on the number of threads",
    "timezone": "the time zone reaches training",
    "clock": "the time or the date reaches training",
    "load": "the result depends on what else the machine is doing: something races",
}


def blame_variation(
    lab: Laboratory, variation: Variation, evidence: Evidence, source: Source
) -> tuple[list[Finding], list[str]] | None:
    """None when the twins differ with nothing varied as well."""
    plain = lab.plain("nothing varied")
    if plain is not None and not plain.repeats:
        return None
    findings: list[Finding] = []
    for name in variation.names:
        alone = Variation((name,))
        trial = lab.vary(alone, f"only {name} varied") if len(variation.names) > 1 else None
        if trial is not None and trial.repeats:
            continue
        proved = plain is not None and (trial is not None or len(variation.names) == 1)
        shown = f"shown: with only {name} varied the twins differ, with nothing varied they repeat"
        findings.append(finding_of(_candidate(lab, name, trial, evidence, source), shown, confirmed=proved))
    notes = [] if findings else ["none of the variations alone makes the twins differ; together they do"]
    return findings, notes


def _candidate(
    lab: Laboratory, name: str, trial: Trial | None, evidence: Evidence, source: Source
) -> Candidate:
    seen = trial.evidence if trial is not None and trial.evidence is not None else evidence
    blamed = Candidate(_CODES[name], name, _MESSAGES[name])
    if name == "hashseed":
        places = source.hash_order()
        if places:
            file, line, _ = places[0]
            blamed = replace(
                blamed,
                file=file,
                line=line,
                notes=tuple(f"{text} at {relative(f)}:{n}" for f, n, text in places[:4]),
            )
    elif name == "fileorder":
        row = _guilty(lab, name, [one(pair) for pair in seen.of("listing") if differs(pair)])
        if row is not None:
            blamed = replace(
                blamed, file=row["file"], line=row["line"], notes=(f"{row['what']} is not sorted",)
            )
    elif name == "threads":
        blamed = _op_of_threads(lab, blamed, seen)
    elif name in ("timezone", "clock"):
        rows = [one(pair) for pair in seen.of("date", "clock") if differs(pair)]
        read = [row for row in rows if _moves(row, name)]
        row = _guilty(lab, name, read)
        if row is not None:
            blamed = replace(
                blamed, file=row["file"], line=row["line"], notes=(f"{row['what']} is read there",)
            )
    return blamed


def _moves(row: Row, variation: str) -> bool:
    """Whether this variation changes what such a call gives. A clock that only measures is never moved."""
    return bool(row["kind"] == "date" or (variation == "clock" and row["what"] in TIME_OF_DAY))


def _guilty(lab: Laboratory, name: str, rows: list[Row]) -> Row | None:
    """Of several lines that a variation reaches, the one that alone, held still, makes the twins repeat."""
    for row in rows[:4] if len(rows) > 1 else ():
        site = [[row["kind"], row["file"], row["line"]]]
        trial = lab.vary(Variation((name,)), f"{row['what']} at line {row['line']} held still", steady=site)
        if trial is not None and trial.repeats:
            return row
    return rows[0] if rows else None


def _op_of_threads(lab: Laboratory, blamed: Candidate, seen: Evidence) -> Candidate:
    before, lab.steps = lab.steps, seen.first.step
    trial = lab.vary(Variation(("threads",)), "every op of the step compared, threads varied", trace_ops=True)
    lab.steps = before
    if trial is None or trial.evidence is None or trial.evidence.ops is None:
        return blamed
    culprit = first_culprit(*trial.evidence.ops)
    if culprit is None:
        return blamed
    note = f"{culprit.op} is the first op whose inputs match and whose output does not"
    return replace(blamed, file=culprit.file, line=culprit.line, notes=(note,))
