"""Shows what `twinrun fix` is worth: takes the patch for a program, applies it with `git apply` to a copy, and runs the
patched program plainly, without Twinrun, to see whether it repeats."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from manifest import Program, lay_out, without
from running import ran

PLAIN_RUNS = 3
ALLOWED_TO_FAIL = 1


@dataclass(frozen=True)
class FixResult:
    """What became of one program that `twinrun fix` was asked to fix."""

    name: str
    fixable: bool
    proved: bool
    """Twinrun itself said that the patched program repeats."""
    repeats: bool
    """All plain runs of the patched program printed the same."""
    seconds: float
    """How long `twinrun fix` took."""
    trouble: str
    patch: str

    @property
    def right(self) -> bool:
        """It repeats; or no edit can do it, and none was said to."""
        return self.repeats or (not self.fixable and not self.proved)


def plain_runs(program: Program, folder: Path, env: dict[str, str], limit: float) -> tuple[bool, str]:
    """Run the program as it lies in the folder; whether all runs printed the same, and what went wrong."""
    printed = []
    for _ in range(PLAIN_RUNS):
        done = ran([sys.executable, *program.run], folder, env, limit)
        if done.returncode != 0:
            return (
                False,
                f"the patched program fails: {(done.stderr.strip() or 'no output').splitlines()[-1][:120]}",
            )
        printed.append(without(program.showy, done.stdout))
    distinct = len(set(printed))
    return distinct == 1, "" if distinct == 1 else f"{distinct} different results in {PLAIN_RUNS} plain runs"


def try_fix(twinrun: str, program: Program, env: dict[str, str], extra: list[str], limit: float) -> FixResult:
    """Ask for a patch in one copy of the program, apply it in another, and run that one."""
    words = [twinrun, "fix", "--no-progress"]
    if program.vary:
        words += ["--vary", ",".join(program.vary)]
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        base = Path(scratch).resolve()
        began = time.monotonic()
        proved, repeats, patch = False, False, ""
        try:
            done = ran(
                [*words, *program.options, *extra, *program.run],
                lay_out(program, base / "asked"),
                env | {"TWINRUN_HOME": str(base / "recordings")},
                limit,
            )
            seconds = time.monotonic() - began
            patch, proved = done.stdout, done.returncode == 0
            trouble = (
                (done.stderr.strip().splitlines() or ["no patch"])[-1][:120] if not patch.strip() else ""
            )
            if not trouble:
                folder = lay_out(program, base / "patched")
                trouble = apply(patch, folder)
            if not trouble:
                repeats, trouble = plain_runs(program, folder, env, limit)
        except subprocess.TimeoutExpired as late:
            seconds, trouble = (
                time.monotonic() - began,
                f"{Path(late.cmd[0]).name}: no end within {limit:.0f} s",
            )
    return FixResult(program.name, program.fixable, proved, repeats, seconds, trouble, patch)


def apply(patch: str, folder: Path) -> str:
    """Apply the patch as a user would, in a git repository; what git says when it refuses."""
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["git", "apply", "-"], cwd=folder, input=patch, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else f"git apply: {done.stderr.strip().splitlines()[0][:120]}"


def fixes_table(fixes: list[FixResult]) -> list[str]:
    """One line per program, and how many repeat."""
    lines = [f"{'program':26} {'repeats':8} {'proved':7} {'s':>6}  remarks"]
    for r in fixes:
        remark = "; ".join(filter(None, ["" if r.fixable else "no edit can do it", r.trouble]))
        marks = f"{'yes' if r.repeats else 'NO':8} {'yes' if r.proved else 'no':7}"
        lines.append(f"{r.name:26} {marks} {r.seconds:6.1f}  {remark}".rstrip())
    fixable = [r for r in fixes if r.fixable]
    repeat = sum(r.repeats for r in fixable)
    lines += ["", f"{repeat} of {len(fixable)} that edits can fix repeat in {PLAIN_RUNS} plain runs"]
    return lines


def fixes_must_hold(fixes: list[FixResult]) -> list[tuple[str, bool]]:
    """The promises about `twinrun fix`, each with whether it was kept."""
    failed = [r for r in fixes if r.fixable and not r.repeats]
    false = [r for r in fixes if r.proved and not r.repeats]
    return [
        ("the patched program repeats in all but one", len(failed) <= ALLOWED_TO_FAIL),
        ("what is called proved repeats", not false),
    ]
