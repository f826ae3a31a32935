"""Checks the zoo's labels by experiment, without Twinrun: runs each program several times in plain fresh
processes and compares the last line it prints, the checksum of its result.

A guilty program must differ between runs, and must repeat once every cause is fixed; with two causes, fixing
either alone must not be enough. An innocent one must never differ."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from manifest import HELDOUT, OPEN, Program, lay_out, load

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


def environment(program: Program, turn: int, patches: Path) -> dict[str, str]:
    """The environment of the run with this number, with the program's variations played out."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONHASHSEED", "PYTHONPATH"}}
    env["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if "hashseed" in program.vary:
        env["PYTHONHASHSEED"] = str(turn + 1)
    if "threads" in program.vary:
        env["TF_NUM_INTRAOP_THREADS"] = str(1 + turn % 2)
    if "fileorder" in program.vary:
        env["ZOO_FILE_ORDER"] = str(turn)
        env["PYTHONPATH"] = str(patches)
    return env


def series(program: Program, variant: str, fixed: tuple[int, ...], manner: Manner) -> Outcome:
    """Run one variant several times in one folder, as a user would, and count the distinct results."""
    results: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        patches = Path(scratch) / "patches"
        patches.mkdir()
        (patches / "sitecustomize.py").write_text(SHUFFLED_LISTINGS, encoding="utf-8")
        folder = lay_out(program, Path(scratch) / "program", fixed)
        command = [sys.executable, *program.run]
        width = 2 if manner.together else 1
        for first in range(0, manner.runs, width):
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
                lines = out.strip().splitlines()
                if process.returncode != 0 or not lines:
                    tail = (err.strip().splitlines() or ["no output"])[-1]
                    failure = f"exit {process.returncode}: {tail[:160]}"
                    return Outcome(variant, len(results), 0, 0, 0, time.monotonic() - began, failure)
                results.append(lines[-1])
    pairs = list(itertools.combinations(results, 2))
    return Outcome(
        variant,
        len(results),
        len(set(results)),
        sum(a != b for a, b in pairs),
        len(pairs),
        (time.monotonic() - began) / max(1, len(results)),
        "",
    )


def verify(program: Program, manner: Manner) -> tuple[bool, list[Outcome]]:
    """Every variant of one program, and whether its label holds."""
    everything = tuple(range(len(program.causes)))
    outcomes = [series(program, "as written", (), manner)]
    plain = outcomes[0]
    if program.verdict == "undecided":
        # It ends badly, or trains nothing: there is no checksum to compare.
        return True, outcomes
    right = not plain.failure and (plain.distinct > 1) == (program.verdict == "diverges")
    if everything:
        outcomes.append(series(program, "fixed", everything, manner))
        right &= not outcomes[-1].failure and outcomes[-1].distinct == 1
    if len(everything) > 1:
        for left in everything:
            rest = tuple(n for n in everything if n != left)
            outcomes.append(series(program, f"only cause {left + 1} left", rest, manner))
            right &= not outcomes[-1].failure and outcomes[-1].distinct > 1
    return right, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs by name; all when none is given")
    parser.add_argument("--manifest", type=Path, action="append", help="manifests to read (default: both)")
    parser.add_argument("--code", action="append", default=[], help="only programs with this code or group")
    parser.add_argument("--runs", type=int, default=4, help="runs of each variant (default 4)")
    parser.add_argument("--together", action="store_true", help="two runs at a time, as twins run")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one run")
    parser.add_argument("--json", type=Path, help="write the outcomes here, one JSON line per program")
    options = parser.parse_args()
    programs = [p for m in options.manifest or (OPEN, HELDOUT) for p in load(m)]
    if options.names:
        programs = [p for p in programs if p.name in options.names]
    if options.code:
        programs = [p for p in programs if set(options.code) & {p.group, *p.family.split("+")}]
    manner = Manner(options.runs, options.together, options.timeout)
    wrong = 0
    for program in programs:
        right, outcomes = verify(program, manner)
        wrong += not right
        said = "; ".join(
            f"{o.variant}: {o.failure or f'{o.distinct} distinct in {o.runs}, {o.seconds:.1f} s each'}"
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
