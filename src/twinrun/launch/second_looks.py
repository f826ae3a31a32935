"""Second looks, before a verdict is given: twins that run side by side may get in each other's way. What two runs on two
days do not share is looked for in another_day.py."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from twinrun.launch.pin_outcome import refusals
from twinrun.launch.round import Round
from twinrun.launch.views import WAYS
from twinrun.protocol import Facts
from twinrun.protocol.registry import frameworks
from twinrun.result import DIVERGES, UNDECIDED, CheckResult, Conditions

# Exceptions about a file, a port, a device, memory, or a file half written, with all that derive from them
# (FileExistsError, BlockingIOError, …). Frameworks add their own.
_RESOURCE_ERRORS = {"OSError", "MemoryError", "EOFError", "BadZipFile", "UnpicklingError", "JSONDecodeError"}
_RESOURCE_TEXT = re.compile(
    r"no such file|\b(file|folder|directory|path|device)\b.*\bnot found|(?-i:NOT_FOUND)"
    r"|not exist|already exists|in use|locked|truncated|corrupt",
    re.IGNORECASE,
)
_OVERLAY_ERRORS = (os.strerror(errno.EXDEV), os.strerror(errno.EOVERFLOW))


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
    apart = last.again("one-after-the-other", sequential=True)
    return apart, after_the_other(apart, apart.run(), why)


def after_the_other(apart: Round, found: CheckResult, why: str) -> CheckResult:
    note = f"{why}, so the twins were run again, one after the other"
    conditions = Conditions(sequential=True, carried=apart.options.carried)
    return found.replace(conditions=conditions, notes=(note, *found.notes))


def _in_each_others_way(last: Round, verdict: str) -> str | None:
    shared = [path for path in shared_inputs(last.facts) if not last.views.holds(path)]
    if verdict == DIVERGES and shared:
        return f"the twins read what either of them may have written ({file_names(shared)})"
    if verdict == UNDECIDED and last.failed and shared:
        return f"a twin failed, and they read what either may have written ({file_names(shared)})"
    if verdict == UNDECIDED and last.failed and (failure := resource_failure(last.facts)):
        return f"a twin failed on a resource that the other twin may hold ({failure})"
    return None


def resource_failure(twins: Iterable[Facts]) -> str | None:
    """The exception that ended a twin, where it speaks of something that twins share. A refusal to run an op has nothing to
    do with the other twin."""
    known = _RESOURCE_ERRORS.union(*(framework.resource_errors for framework in frameworks()))
    for facts in twins:
        failure = facts.failure
        if failure is None or refusals(facts.findings):
            continue
        if known.intersection(failure.kinds) or _RESOURCE_TEXT.search(failure.text):
            return failure.kinds[0]
    return None


def changed_inputs(twins: Sequence[Facts]) -> list[str]:
    """What the program read or listed and then changed. In a temporary folder of its own, whose name is another one in each
    twin, no later run will find it."""
    changed = {path for facts in twins for path in facts.inputs.changed}
    met = Counter(path for facts in twins for path in {*facts.inputs.paths, *facts.inputs.changed})
    return sorted(path for path in changed if len(twins) == 1 or met[path] > 1 or not _is_temporary(path))


def _is_temporary(path: str) -> bool:
    return path.startswith(tempfile.gettempdir() + os.sep)


def shared_inputs(twins: list[Facts]) -> list[str]:
    """Files that a twin read and that were written while it ran, by itself or by another. Those in a temporary folder
    count only where another twin knows them too: else each has its own."""
    read = [set(facts.inputs.paths) for facts in twins]
    found = set()
    for number, facts in enumerate(twins):
        others = set().union(*(known for other, known in enumerate(read) if other != number))
        found |= {path for path in facts.inputs.fresh if path in others or not _is_temporary(path)}
    return sorted(found)


def file_names(paths: list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(Path(path).name for path in paths[:3]) + more
