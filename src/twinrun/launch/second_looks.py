"""Looking again before a verdict is given. Twins that run side by side may get in each other's way, and they share
what another run would not: the machine's quiet, and the time of day."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinrun.launch.round import Round
from twinrun.launch.vary import TIME_OF_DAY, Variation
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult

Facts = list[dict[str, Any]]  # what each twin told of itself

# Of a file, a port, a device, memory, or a file half written: Python's, with all that are of their kind
# (FileExistsError, BlockingIOError, …), and TensorFlow's.
_OF_SHARED_THINGS = {
    "OSError", "MemoryError", "EOFError", "NotFoundError", "AlreadyExistsError", "DataLossError",
    "FailedPreconditionError", "UnavailableError", "ResourceExhaustedError", "InternalError", "UnknownError",
    "AbortedError", "BadZipFile", "UnpicklingError", "JSONDecodeError",
}  # fmt: skip
_SAID_OF_SHARED_THINGS = re.compile(
    r"no such file|not[ _]found|not exist|already exists|in use|locked|truncated|corrupt", re.IGNORECASE
)
_STEPS = 100  # enough to see whether the time of day reaches training
_PATIENCE = 60.0  # seconds, and three times what the round before took: a program may wait for a moved clock


def one_after_the_other(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Twins that met in a file, or failed over what they share, are run again, each alone."""
    if last.options.sequential or (why := _in_each_others_way(last, result.verdict)) is None:
        return last, result
    apart = last.again("one-after-the-other", sequential=True)
    found = apart.run()
    note = f"{why}, so the twins were run again, one after the other"
    return apart, replace(found, manner={"sequential": True}, notes=(note, *found.notes))


def _in_each_others_way(last: Round, verdict: str) -> str | None:
    if verdict == REPEATS and (changed := changed_inputs(last.facts)):
        # Twins that read it at the same moment prove nothing about the next run.
        return f"the program changed a file that it reads ({_names(changed)})"
    shared = shared_inputs(last.facts)
    if verdict == DIVERGES and shared:
        return f"the twins read what either of them may have written ({_names(shared)})"
    if verdict == UNDECIDED and last.failed and shared:
        return f"a twin failed, and they read what either may have written ({_names(shared)})"
    if verdict == UNDECIDED and last.failed and (failure := lacked(last.facts)):
        return f"a twin failed for want of what the other may have had ({failure})"
    return None


def lacked(twins: Facts) -> str | None:
    """The exception that ended a twin, where it speaks of a file, a port, a device or memory: of what twins share."""
    for failure in (facts.get("failure") or {} for facts in twins):
        kinds, text = failure.get("kinds", []), failure.get("text", "")
        if _OF_SHARED_THINGS.intersection(kinds) or _SAID_OF_SHARED_THINGS.search(text):
            return str(kinds[0])
    return None


def _names(paths: list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(Path(path).name for path in paths[:3]) + more


def provoked(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Where something may race, or the time of day is read, once more: with the threads of one twin pushed about,
    and with one twin at another time of another day. What shows only then would have shown some other day."""
    if result.verdict != REPEATS:
        return last, result
    changes, notes = _provocation(last)
    if not changes:
        return last, result
    began = time.monotonic()
    again = last.again("provoked", timeout=_patience(last), **changes)
    found = again.run()
    said = tuple(f"{note}: checked once more{how}" for note, how in notes)
    if found.verdict == DIVERGES:
        kept = {name: value for name, value in changes.items() if name != "steps"}
        manner = {**result.manner, **kept}
        return again, replace(found, manner=manner, notes=(*result.notes, *said, *found.notes))
    if found.verdict == UNDECIDED:
        said += (f"that came to no answer after {time.monotonic() - began:.0f} s: {found.reason}",)
    return last, replace(result, notes=(*result.notes, *said))


def _provocation(last: Round) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What to change for one more round, and what to say of it."""
    options = last.options
    changes: dict[str, Any] = {}
    notes = []
    if not options.jostle and (where := racing(last.facts)):
        changes["jostle"] = True
        notes.append((where, " with the threads of one twin pushed from core to core"))
    clock = None if options.inquiry or "clock" in options.variation.names else reads_clock(last.facts)
    if clock:
        changes["variation"] = Variation((*options.variation.names, "clock"))
        notes.append((clock, " with the clock of one twin a year ahead"))
        if "jostle" not in changes:
            changes["steps"] = min(options.steps or _STEPS, _STEPS)
    return changes, notes


def _patience(last: Round) -> float:
    long_enough = 3 * last.seconds + _PATIENCE
    return min(long_enough, last.options.timeout) if last.options.timeout else long_enough


def changed_inputs(twins: Facts) -> list[str]:
    return sorted({path for facts in twins for path in facts.get("changed_inputs", [])})


def shared_inputs(twins: Facts) -> list[str]:
    """Files that a twin read and that were written while it ran, by itself or by another. Those in a temporary folder
    count only where another twin knows them too: else each has its own."""
    met = [set(facts.get("inputs", [])) for facts in twins]
    passing = tempfile.gettempdir() + os.sep
    found = set()
    for number, facts in enumerate(twins):
        others = set().union(*(known for other, known in enumerate(met) if other != number))
        fresh = facts.get("fresh_inputs", [])
        found |= {path for path in fresh if path in others or not path.startswith(passing)}
    return sorted(found)


def racing(twins: Facts) -> str | None:
    """A place where the program gives up order or lets several threads meet, as the ledger has it."""
    for row in _rows(twins):
        if row["kind"] == "parallel" and (row["seeded"] == "False" or row["inside"]):
            return f"{row['what']} at {_place(row)} may race"
        if row["kind"] in ("loader", "thread", "completion"):
            return f"{row['what']} runs in several threads ({_place(row)})"
    return None


def reads_clock(twins: Facts) -> str | None:
    """A place where the program asks for the time of day, or the date."""
    for row in _rows(twins):
        if row["kind"] == "date" or (row["kind"] == "clock" and row["what"] in TIME_OF_DAY):
            return f"{row['what']} is read at {_place(row)}"
    return None


def _rows(twins: Facts) -> Iterator[dict[str, Any]]:
    return (row for facts in twins for row in facts.get("ledger", []))


def _place(row: dict[str, Any]) -> str:
    return f"{Path(row['file']).name}:{row['line']}"
