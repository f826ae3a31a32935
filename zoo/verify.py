"""Checks the zoo's labels by experiment, without Twinrun: runs each program several times in plain fresh
processes and compares the last line it prints, the checksum of its result, or what the manifest says it delivers.

A guilty program must differ between runs, and must repeat once every cause is fixed; with several causes, fixing all
but one must not be enough. An innocent one must never differ. A hidden one must differ in what it delivers, while
what it prints about its training stays equal."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

from manifest import HELDOUT, OPEN, SUITES, Program, lay_out, libraries_for, load, without

# Listings come from the file system in an order that is stable on one machine; this plays another machine.
SHUFFLED_LISTINGS = """
import os, random as _random
_order = _random.Random(int(os.environ["ZOO_FILE_ORDER"]))
_listdir, _scandir = os.listdir, os.scandir

def _mixed(names):
    names = sorted(names, key=lambda n: getattr(n, "name", n))
    _order.shuffle(names)
    return names

def _mine(path):
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    return "site-packages" not in text and "/lib/python" not in text

def listdir(path="."):
    names = _listdir(path)
    return _mixed(names) if _mine(path) else names

class _Scan:
    def __init__(self, entries): self._entries = iter(entries)
    def __iter__(self): return self
    def __next__(self): return next(self._entries)
    def __enter__(self): return self
    def __exit__(self, *_): return None
    def close(self): pass

def scandir(path="."):
    if not _mine(path):
        return _scandir(path)
    with _scandir(path) as entries:
        return _Scan(_mixed(list(entries)))

os.listdir, os.scandir = listdir, scandir
"""


@dataclass(frozen=True)
class Manner:
    """How a series of runs is made."""

    runs: int = 4
    together: bool = False
    limit: float = 120.0
    brief: bool = False
    """Stop a series that must differ as soon as it does."""
    whole: bool = False
    """Leave out the series in which one cause alone is left."""


@dataclass(frozen=True)
class Outcome:
    """What a series of runs of one variant gave."""

    variant: str
    runs: int
    distinct: int
    differing_pairs: int
    pairs: int
    seconds: float
    failure: str
    steady: bool = True
    """What must be equal in all runs was."""


def content(path: Path) -> str:
    """A digest of what a file holds; archives by their members, without the dates."""
    digest = hashlib.sha256()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name != "metadata.json":  # Keras writes the date into it.
                    digest.update(name.encode() + archive.read(name))
    else:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def delivered(program: Program, folder: Path, out: str) -> str:
    """What one run gave, as text that can be compared. Raises FileNotFoundError for a file that is not there."""
    if not program.delivers:
        return out.strip().splitlines()[-1]
    parts = []
    for wanted in program.delivers:
        if wanted == "stdout":
            parts.append(without(program.showy, out))
            continue
        files = [p for p in folder.glob(wanted) if p.is_file()]
        if not files:
            raise FileNotFoundError(f"no {wanted} was written")
        parts.append(content(max(files, key=lambda p: p.stat().st_mtime_ns)))
    return "\n".join(parts)


def environment(program: Program, turn: int, patches: Path) -> dict[str, str]:
    """The environment of the run with this number, with the program's variations played out."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONHASHSEED", "PYTHONPATH"}}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", **libraries_for(program)}
    if "hashseed" in program.vary:
        env["PYTHONHASHSEED"] = str(turn + 1)
    if "threads" in program.vary:
        env["TF_NUM_INTRAOP_THREADS"] = str(1 + turn % 2)
    if "fileorder" in program.vary:
        env["ZOO_FILE_ORDER"] = str(turn)
        env["PYTHONPATH"] = str(patches)
    return env


def series(
    program: Program, variant: str, fixed: tuple[int, ...], manner: Manner, differs: bool = False
) -> Outcome:
    """Run one variant several times in one folder, as a user would, and count the distinct results."""
    results: list[str] = []
    steady: set[str] = set()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        patches = Path(scratch) / "patches"
        patches.mkdir()
        (patches / "sitecustomize.py").write_text(SHUFFLED_LISTINGS, encoding="utf-8")
        folder = lay_out(program, Path(scratch) / "program", fixed)
        command = [sys.executable, *program.run]
        width = 2 if manner.together else 1
        for first in range(0, manner.runs, width):
            if manner.brief and differs and len(set(results)) > 1:
                break
            started = [
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment(program, turn, patches),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for turn in range(first, min(first + width, manner.runs))
            ]
            for process in started:
                try:
                    out, err = process.communicate(timeout=manner.limit)
                except subprocess.TimeoutExpired:
                    process.kill()
                    failure = f"ran longer than {manner.limit:.0f} s"
                    return Outcome(variant, len(results), 0, 0, 0, manner.limit, failure)
                failure = ""
                if process.returncode != 0 or not out.strip():
                    tail = (err.strip().splitlines() or ["no output"])[-1]
                    failure = f"exit {process.returncode}: {tail[:160]}"
                else:
                    try:
                        results.append(delivered(program, folder, out))
                    except FileNotFoundError as error:
                        failure = str(error)
                if failure:
                    return Outcome(variant, len(results), 0, 0, 0, time.monotonic() - began, failure)
                if program.steady:
                    lines = [line for line in out.splitlines() if re.search(program.steady, line)]
                    steady.add("\n".join(lines) if lines else f"none in run {len(results)}")
    pairs = list(itertools.combinations(results, 2))
    return Outcome(
        variant,
        len(results),
        len(set(results)),
        sum(a != b for a, b in pairs),
        len(pairs),
        (time.monotonic() - began) / max(1, len(results)),
        "",
        len(steady) <= 1,
    )


def verify(program: Program, manner: Manner) -> tuple[bool, list[Outcome]]:
    """Every variant of one program, and whether its label holds."""
    everything = tuple(range(len(program.causes)))
    differs = "repeats" not in program.verdicts
    outcomes = [series(program, "as written", (), manner, differs)]
    plain = outcomes[0]
    if program.verdicts == ("undecided",):
        # It ends badly, or trains nothing: there is no checksum to compare.
        return True, outcomes
    right = not plain.failure and (plain.distinct > 1) == differs and plain.steady
    if everything:
        outcomes.append(series(program, "fixed", everything, manner))
        right &= not outcomes[-1].failure and outcomes[-1].distinct == 1
    if len(everything) > 1 and not manner.whole:
        for left in everything:
            rest = tuple(n for n in everything if n != left)
            outcomes.append(series(program, f"only cause {left + 1} left", rest, manner, True))
            right &= not outcomes[-1].failure and outcomes[-1].distinct > 1
    return right, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs by name; all when none is given")
    parser.add_argument("--manifest", type=Path, action="append", help="manifests to read (default: both)")
    parser.add_argument(
        "--suite", choices=[*SUITES], action="append", help="a suite instead (may be repeated)"
    )
    parser.add_argument("--code", action="append", default=[], help="only programs with this code or group")
    parser.add_argument("--runs", type=int, default=4, help="runs of each variant (default 4)")
    parser.add_argument(
        "--brief", action="store_true", help="stop a series that must differ as soon as it does"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="only as written and with every cause fixed, not each cause alone",
    )
    parser.add_argument("--together", action="store_true", help="two runs at a time, as twins run")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one run")
    parser.add_argument("--json", type=Path, help="write the outcomes here, one JSON line per program")
    options = parser.parse_args()
    manifests = options.manifest or [SUITES[name] for name in options.suite or ()] or (OPEN, HELDOUT)
    programs = [p for m in manifests for p in load(m)]
    if options.names:
        programs = [p for p in programs if p.name in options.names]
    if options.code:
        programs = [p for p in programs if set(options.code) & {p.group, *p.family.split("+")}]
    manner = Manner(options.runs, options.together, options.timeout, options.brief, options.whole)
    wrong = 0
    for program in programs:
        right, outcomes = verify(program, manner)
        wrong += not right
        said = "; ".join(
            f"{o.variant}: {o.failure or f'{o.distinct} distinct in {o.runs}, {o.seconds:.1f} s each'}"
            + ("" if o.steady else ", what must stay equal did not")
            for o in outcomes
        )
        print(f"{'ok   ' if right else 'WRONG'} {program.name:28} {said}", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as stream:
                row = {"name": program.name, "right": right, "outcomes": [asdict(o) for o in outcomes]}
                stream.write(json.dumps(row) + "\n")
    print(f"{len(programs) - wrong} of {len(programs)} labels hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
