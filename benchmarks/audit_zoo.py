"""Does `twinrun audit` find what a twin check finds? Program by program over the open zoo, with totals.

Each program is audited as a user would (`twinrun audit PROGRAM …`), in a fresh copy of its folder. A cause of the label
counts as found when a finding has one of its codes at one of its lines. With --phases every guilty program is also
checked without a diagnosis, and the causes are counted by the phase in which the twins differed first.

    python benchmarks/audit_zoo.py [--phases] [--json FILE] [NAME …]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ZOO = Path(__file__).resolve().parent.parent / "zoo"
sys.path.insert(0, str(ZOO))

from manifest import OPEN, Cause, Program, lay_out, load  # type: ignore[import-not-found] # noqa: E402

TWINRUN = str(Path(sys.executable).with_name("twinrun"))
LIMIT = 300.0
# By the first code of the label: where the cause lies.
FAMILIES = {
    "input pipeline and loaders (TW107, TW2…)": ("TW107", "TW2"),
    "seeds, sets, listings, clock (TW10…, TW301 to TW303)": ("TW10", "TW301", "TW302", "TW303"),
    "changed input files, computation (TW304, TW4…)": ("TW304", "TW4"),
}


@dataclass(frozen=True)
class Row:
    """What the audit found about one cause, or about one program that has none."""

    program: str
    group: str
    family: str
    label: tuple[str, ...]
    found: bool
    """The code, at the line. Of a program without a cause: no finding."""
    code_only: bool
    others: tuple[str, ...]
    """Findings of the program that belong to no cause of its label."""
    phase: str | None = None


def answer(words: list[str], folder: Path) -> dict[str, Any]:
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONHASHSEED", "PYTHONPATH"}}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TWINRUN_HOME": str(folder.parent / "recordings")}
    command = [TWINRUN, *words]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}") from None
    return document


def audited(program: Program) -> list[tuple[str, str]]:
    """(code, file:line) of every finding."""
    with tempfile.TemporaryDirectory(prefix="audit-zoo-") as scratch:
        folder = lay_out(program, Path(scratch).resolve() / "program")
        document = answer(["audit", "--output-format", "json", *program.run], folder)
        return [(one["code"], place(one, folder)) for one in document["findings"]]


def place(finding: dict[str, Any], folder: Path) -> str:
    if not finding["file"]:
        return "-"
    return f"{os.path.relpath(folder / finding['file'], folder)}:{finding['line']}"


def first_phase(program: Program) -> str:
    """The phase in which twins differ first, as the check reports without a diagnosis."""
    with tempfile.TemporaryDirectory(prefix="audit-zoo-") as scratch:
        folder = lay_out(program, Path(scratch).resolve() / "program")
        vary = ["--vary", ",".join(program.vary)] if program.vary else []
        words = ["check", "--output-format", "json", "--no-progress", "--no-diagnose", *vary]
        document = answer([*words, *program.options, *program.run], folder)
    first = document.get("first_difference")
    return str(first["phase"]) if first else str(document["verdict"])


def family(code: str) -> str:
    return next(name for name, codes in FAMILIES.items() if code.startswith(codes))


def belongs(code: str, where: str, cause: Cause) -> bool:
    return code in cause.codes and (not cause.lines or where in cause.lines)


def rows_of(program: Program, findings: list[tuple[str, str]], phase: str | None) -> list[Row]:
    others = tuple(
        f"{code}@{where}"
        for code, where in findings
        if not any(belongs(code, where, cause) for cause in program.causes)
    )
    if not program.causes:
        return [Row(program.name, program.group, "no cause", (), not findings, not findings, others, phase)]
    return [
        Row(
            program.name,
            program.group,
            family(cause.codes[0]),
            cause.codes,
            any(belongs(code, where, cause) for code, where in findings),
            any(code in cause.codes for code, _ in findings),
            others,
            phase,
        )
        for cause in program.causes
    ]


def show(row: Row) -> None:
    outcome = "found" if row.found else "code, other line" if row.code_only else "MISSED"
    if not row.label:
        outcome = "no finding" if row.found else "FINDING"
    others = f"also {' '.join(row.others)}" if row.others else ""
    label = ",".join(row.label) or "-"
    print(
        f"{row.program:24} {row.group:10} {row.phase or '':10} {label:14} {outcome:17} {others}", flush=True
    )


def counted(title: str, rows: Iterable[tuple[str, bool]]) -> None:
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for name, found in rows:
        total[name] += 1
        right[name] += found
    print(f"\n{title}")
    for name in total:
        print(f"  {name:55} {right[name]} of {total[name]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs by name; all when none is given")
    parser.add_argument(
        "--phases", action="store_true", help="check guilty programs, too (a quarter of an hour)"
    )
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    rows: list[Row] = []
    for program in load(OPEN):
        if options.names and program.name not in options.names:
            continue
        phase = first_phase(program) if options.phases and program.group == "guilty" else None
        mine = rows_of(program, audited(program), phase)
        rows += mine
        for row in mine:
            show(row)
    guilty = [row for row in rows if row.label]
    counted(
        "causes found, with code and line, by where they lie", ((row.family, row.found) for row in guilty)
    )
    if options.phases:
        counted("by the phase of the first difference", ((row.phase or "", row.found) for row in guilty))
    counted("programs without a cause, without a finding", ((r.group, r.found) for r in rows if not r.label))
    also = sum(1 for name in {row.program for row in guilty if row.others} if name)
    print(f"\nprograms with a cause that have other findings as well: {also}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
