"""Second looks, before a verdict is given. Twins that run side by side may get in each other's way, and they share what
another run would not: a quiet machine, and the time of day."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from twinrun.launch.round import Round
from twinrun.launch.views import WAYS
from twinrun.protocol import Facts, SecondLook, Stress
from twinrun.protocol.registry import frameworks, sources
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Conditions

# Exceptions about a file, a port, a device, memory, or a file half written, with all that derive from them
# (FileExistsError, BlockingIOError, …). Frameworks add their own.
_RESOURCE_ERRORS = {"OSError", "MemoryError", "EOFError", "BadZipFile", "UnpicklingError", "JSONDecodeError"}
_RESOURCE_TEXT = re.compile(
    r"no such file|not[ _]found|not exist|already exists|in use|locked|truncated|corrupt", re.IGNORECASE
)
_OVERLAY_ERRORS = (os.strerror(errno.EXDEV), os.strerror(errno.EOVERFLOW))
_STEPS = 100  # enough to see whether the time of day reaches training
# Seconds, beside three times what the round before took: a program may wait for a moved clock.
_PATIENCE = 60.0


def without_overlay(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """A few things cannot be done in an overlay: rename a folder that was there before, or change the file of another
    user. A twin that failed on one is run again in another view."""
    failures = [facts.failure.text for facts in last.facts if facts.failure is not None]
    known = [text for text in failures for error in _OVERLAY_ERRORS if error in text]
    if last.views.how != "overlay" or result.verdict != UNDECIDED or not last.failed or not known:
        return last, result
    again = last.again("without-overlay", views=WAYS[1:])
    return again, again.run()


def one_after_the_other(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Twins that shared a file, or failed on what they share, are run again, each alone."""
    if last.options.sequential or (why := _in_each_others_way(last, result.verdict)) is None:
        return last, result
    return _again_alone(last.again("one-after-the-other", sequential=True), why)


def carried_over(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Twins that start from the same files prove nothing about the next run of a program that changes what it reads.
    It is run as its user would, twice on the same files."""
    changed = changed_inputs(last.facts)
    by_output = last.options.contract.output  # judged when the last round is known
    agreed = result.verdict == REPEATS or (by_output and result.reason_kind in (None, "no-step"))
    if not agreed or not changed or last.files_frozen or last.on_files_of_first:
        return last, result
    why = f"the program changed what it reads ({_names(changed)})"
    apart, found = _again_alone(last.continued("on-the-same-files"), why)
    if found.verdict == DIVERGES or (by_output and not apart.failed):
        return apart, found
    # What the program delivers is compared from the same start, so the round before it stays the last.
    note = f"{why}: checked once more on the files that a run leaves"
    if found.verdict == UNDECIDED:
        note += f", which gave no answer: {found.reason}"
    return last, result.replace(notes=(*result.notes, note))


def _again_alone(apart: Round, why: str) -> tuple[Round, CheckResult]:
    found = apart.run()
    note = f"{why}, so the twins were run again, one after the other"
    conditions = Conditions(sequential=True, carried=apart.options.carried)
    return apart, found.replace(conditions=conditions, notes=(note, *found.notes))


def _in_each_others_way(last: Round, verdict: str) -> str | None:
    shared = [path for path in shared_inputs(last.facts) if not last.views.holds(path)]
    if verdict == DIVERGES and shared:
        return f"the twins read what either of them may have written ({_names(shared)})"
    if verdict == UNDECIDED and last.failed and shared:
        return f"a twin failed, and they read what either may have written ({_names(shared)})"
    if verdict == UNDECIDED and last.failed and (failure := resource_failure(last.facts)):
        return f"a twin failed on a resource that the other twin may hold ({failure})"
    return None


def resource_failure(twins: Iterable[Facts]) -> str | None:
    """The exception that ended a twin, where it speaks of something that twins share."""
    known = _RESOURCE_ERRORS.union(*(framework.resource_errors for framework in frameworks()))
    for failure in (facts.failure for facts in twins if facts.failure is not None):
        if known.intersection(failure.kinds) or _RESOURCE_TEXT.search(failure.text):
            return failure.kinds[0]
    return None


def changed_inputs(twins: Iterable[Facts]) -> list[str]:
    return sorted({path for facts in twins for path in facts.inputs.changed})


def shared_inputs(twins: list[Facts]) -> list[str]:
    """Files that a twin read and that were written while it ran, by itself or by another. Those in a temporary folder
    count only where another twin knows them too: else each has its own."""
    read = [set(facts.inputs.paths) for facts in twins]
    temporary = tempfile.gettempdir() + os.sep
    found = set()
    for number, facts in enumerate(twins):
        others = set().union(*(known for other, known in enumerate(read) if other != number))
        found |= {path for path in facts.inputs.fresh if path in others or not path.startswith(temporary)}
    return sorted(found)


def _names(paths: list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(Path(path).name for path in paths[:3]) + more


def stress_run(last: Round, result: CheckResult) -> tuple[Round, CheckResult]:
    """Where something may race, or the time of day is read, the twins run once more: with CPU affinity shuffled in one
    twin, and with the clock of one twin moved."""
    looks = list(_wanted_looks(last)) if result.verdict == REPEATS else []
    if not looks:
        return last, result
    options, added = last.options, tuple(look.intervention for look in looks)
    steps = options.steps if Stress() in added else min(options.steps or _STEPS, _STEPS)
    again = last.again(
        "stress", timeout=_patience(last), interventions=(*options.interventions, *added), steps=steps
    )
    found = again.run()
    notes = (*result.notes, *(f"{look.why}: checked once more {look.how}" for look in looks))
    if found.verdict == DIVERGES:
        options = again.options
        conditions = msgspec.structs.replace(
            result.conditions, stress=options.stressed, varied=options.variations
        )
        return again, found.replace(conditions=conditions, notes=(*notes, *found.notes))
    if found.verdict == UNDECIDED:
        notes = (*notes, f"that gave no answer after {again.seconds:.0f} s: {found.reason}")
    return last, result.replace(notes=notes)


def _wanted_looks(last: Round) -> Iterable[SecondLook]:
    """What the sources ask for, each intervention once; not what was done already."""
    asked = set(last.options.interventions)
    events = [event for facts in last.facts for event in facts.events]
    for source in sources():
        look = source.second_look(events)
        if look is None or look.intervention in asked:
            continue
        if last.options.experiment and not isinstance(look.intervention, Stress):
            continue
        asked.add(look.intervention)
        yield look


def _patience(last: Round) -> float:
    long_enough = 3 * last.seconds + _PATIENCE
    return min(long_enough, last.options.timeout) if last.options.timeout else long_enough
