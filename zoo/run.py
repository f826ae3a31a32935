"""Runs `twinrun check` over the zoo and says how often it was right: the verdict, the first code, the line,
and whether the cause was confirmed; over a suite (--suite), whether anything that differs was called repeats, whether
there was a false alarm, and whether all causes of real programs were named. Exits 1 when what must hold does not.

Of held-out programs only totals, counts per code and the names of failures are shown, so that measuring on
them teaches nothing about them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from fixes import FixResult, fixes_must_hold, fixes_table, try_fix
from manifest import HELDOUT, OPEN, SUITES, Program, lay_out, libraries_for, load
from running import ran
from scoring import EXIT_OF, Score, count_by_family, judge, must_hold, totals
from suites import Answer, judge_suite, suites_must_hold, table

Judgement = TypeVar("Judgement", Score, Answer)
Result = TypeVar("Result", Score, Answer, FixResult)


def find_twinrun() -> str | None:
    """The twinrun of this very environment, or the one on the path."""
    beside = Path(sys.executable).with_name("twinrun")
    return str(beside) if beside.exists() else shutil.which("twinrun")


def command(twinrun: str, program: Program, extra: list[str]) -> list[str]:
    """The check of one program, as a user would type it."""
    words = [twinrun, "check", "--output-format", "json", "--no-progress"]
    if program.vary:
        words += ["--vary", ",".join(program.vary)]
    return [*words, *program.options, *extra, *program.run]


def clean_environment(program: Program) -> dict[str, str]:
    """The environment of a user who has set nothing, and who has installed what the program needs."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONHASHSEED", "PYTHONPATH"}}
    env = {k: v for k, v in env.items() if not k.startswith("TWINRUN_")} | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    return env | libraries_for(program)


def check(
    twinrun: str,
    program: Program,
    extra: list[str],
    limit: float,
    judged: Callable[[Program, Path, dict[str, Any] | None, str, float], Judgement],
) -> Judgement:
    """Check one program in a fresh copy of its folder and judge the answer."""
    env = clean_environment(program)
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        env["TWINRUN_HOME"] = str(Path(scratch) / "recordings")
        folder = lay_out(program, Path(scratch).resolve() / "program")
        began = time.monotonic()
        try:
            done = ran(command(twinrun, program, extra), folder, env, limit)
        except subprocess.TimeoutExpired:
            return judged(program, folder, None, f"no answer within {limit:.0f} s", limit)
        seconds = time.monotonic() - began
        try:
            document = json.loads(done.stdout)
        except ValueError:
            tail = (done.stderr.strip() or done.stdout.strip() or "nothing printed").splitlines()[-1]
            return judged(program, folder, None, f"exit {done.returncode}: {tail[:120]}", seconds)
        verdict = document.get("verdict")
        trouble = ""
        if program.group != "advisory" and EXIT_OF.get(verdict) != done.returncode:
            trouble = f"exit {done.returncode} with verdict {verdict}"
        return judged(program, folder, document, trouble, seconds)


@contextmanager
def load_of(count: int) -> Iterator[None]:
    """Keep this many processes busy for the time being."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def show(scores: list[Score]) -> None:
    """The table of programs that may be looked at."""
    print(f"{'program':26} {'expected':14} {'verdict':8} {'code':14} {'line':5} {'confirmed':10} {'s':>6}")
    mark = {True: "ok", False: "WRONG", None: "-"}
    for s in scores:
        code = mark[s.code] if s.code is not False else f"WRONG {s.first or 'none'}"
        sure = {True: "yes", False: "no", None: "-"}[s.confirmed]
        said = s.trouble or ("a cause was missed" if s.every is False else "")
        marks = f"{mark[s.verdict]:8} {code:14} {mark[s.line]:5} {sure:10}"
        row = f"{s.name:26} {s.family:14} {marks} {s.seconds:6.1f}"
        print(f"{row} {said}".rstrip())


def show_heldout(scores: list[Score]) -> None:
    """Counts per code, and the names of those that failed; nothing of what is in them."""
    for family, (right, count) in count_by_family(scores).items():
        print(f"{family:14} {right} of {count} right")
    failed = [s.file for s in scores if not s.right]
    print("failed:", ", ".join(failed) if failed else "none")


def report(verdicts: list[tuple[str, bool]]) -> bool:
    """Print what must hold; whether all of it does."""
    for text, held in verdicts:
        print(f"{'holds ' if held else 'FAILS '} {text}")
    return all(held for _, held in verdicts)


def as_json(scores: list[Score]) -> list[dict[str, Any]]:
    """What is kept of a measurement: all of an open program, only right or wrong of a held-out one."""
    rows = []
    for s in scores:
        row = {k: getattr(s, k) for k in ("name", "heldout", "group", "right", "verdict", "code", "line")}
        row |= {"confirmed": s.confirmed, "every_cause": s.every, "seconds": round(s.seconds, 1)}
        if not s.heldout:
            row |= {"family": s.family, "first": s.first, "place": s.place, "trouble": s.trouble}
        rows.append(row)
    return rows


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs by name; all when none is given")
    parser.add_argument("--heldout", action="store_true", help="the held-out third instead of the open part")
    parser.add_argument("--suite", choices=[*SUITES], help="a suite instead of the open part")
    parser.add_argument("--manifest", type=Path, help="another manifest")
    parser.add_argument(
        "--code", action="append", default=[], help="only this code or group (may be repeated)"
    )
    parser.add_argument(
        "--fix", action="store_true", help="run `twinrun fix`, apply its patch and run the program plainly"
    )
    parser.add_argument("--load", type=int, default=0, help="busy processes beside the checks (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time (default 1)")
    parser.add_argument("--twinrun", help="the twinrun to use (default: that of this environment)")
    parser.add_argument("--option", action="append", default=[], help="one more option for twinrun")
    parser.add_argument(
        "--timeout", type=float, help="seconds before a check is given up (default 600; 900 with --fix)"
    )
    parser.add_argument(
        "--slow", type=float, default=120.0, help="seconds that a check may take (default 120)"
    )
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser


def main() -> int:
    options = arguments().parse_args()
    twinrun = options.twinrun or find_twinrun()
    if not twinrun:
        print("error: no twinrun found\nhint: install the package or pass --twinrun PATH", file=sys.stderr)
        return 2
    source = options.manifest or (
        SUITES[options.suite] if options.suite else HELDOUT if options.heldout else OPEN
    )
    programs = load(source)
    if options.names:
        programs = [p for p in programs if p.name in options.names]
    if options.code:
        programs = [p for p in programs if set(options.code) & {p.group, *p.family.split("+")}]
    if not programs:
        print("error: no program of the zoo was selected", file=sys.stderr)
        return 2
    limit = options.timeout or (900.0 if options.fix else 600.0)

    def measure(one: Callable[[Program], Result], right: Callable[[Result], bool]) -> list[Result]:
        def timed(program: Program) -> Result:
            result = one(program)
            said = "" if program.heldout else f" {'right' if right(result) else 'WRONG'}"
            print(f"{program.name}{said} {result.seconds:.0f} s", file=sys.stderr, flush=True)
            return result

        with load_of(options.load), ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
            return list(pool.map(timed, programs))

    rows: list[dict[str, Any]]
    if options.fix:
        fixes = measure(
            lambda p: try_fix(twinrun, p, clean_environment(p), options.option, limit), lambda r: r.right
        )
        print(*fixes_table(fixes), sep="\n")
        held = report(fixes_must_hold(fixes))
        rows = [asdict(r) | {"right": r.right, "seconds": round(r.seconds, 1)} for r in fixes]
    elif programs[0].suite:
        loaded = options.load > 0
        answers = measure(
            lambda p: check(twinrun, p, options.option, limit, judge_suite), lambda a: a.right(loaded)
        )
        print(*table(answers, loaded), sep="\n")
        held = report(suites_must_hold(answers, loaded))
        rows = [asdict(a) | {"right": a.right(loaded), "seconds": round(a.seconds, 1)} for a in answers]
    else:
        scores = measure(lambda p: check(twinrun, p, options.option, limit, judge), lambda s: s.right)
        (show_heldout if any(p.heldout for p in programs) else show)(scores)
        print()
        print(*totals(scores), sep="\n")
        held = report(must_hold(scores, options.slow))
        rows = as_json(scores)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
