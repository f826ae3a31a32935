"""Results taken in completion order: `as_completed`, `wait`, a pool's `imap_unordered` and callbacks. For an experiment
they are taken in the order in which the work was submitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from twinrun.protocol import Event, Evidence, Point, SecondLook, Source, Suspect, Weight, one, replacement
from twinrun.sources.stream import race_code
from twinrun.sources.threads import NUMBERED, look_for_races
from twinrun.twin.callers import Caller, caller
from twinrun.twin.session import Session

NAME = "completion-order"
_LIBRARIES = ("", "concurrent", "multiprocessing")  # through which the user's own line takes results
_INSTEAD = {
    "as_completed": "[future.result() for future in futures], with the futures in a list",
    "Pool.imap_unordered": "pool.imap(…) in place of pool.imap_unordered(…)",
}
_numbers = itertools.count()


def _is_frozen(session: Session, who: Caller | None, call: str) -> bool:
    """Record that results are taken here. Whether they are to be taken in the order of submission."""
    if who is not None and who.via in _LIBRARIES:
        session.log.record(NAME, "take", who, call)
    return session.log.frozen(NAME, "take", who) is not None


@replacement
def _number(session: Session, original: Any, self: Any) -> None:
    """Every future knows when it was submitted."""
    original(self)
    self._twinrun_number = next(_numbers)


def _submitted(future: Any) -> int:
    return int(getattr(future, "_twinrun_number", 0))


@replacement
def _as_completed(session: Session, original: Any, fs: Iterable[Any], timeout: float | None = None) -> Any:
    futures = list(fs)
    if not _is_frozen(session, caller(), "as_completed"):
        return original(futures, timeout)
    return (done for future in sorted(futures, key=_submitted) for done in original([future], timeout))


@replacement
def _wait(
    session: Session, original: Any, fs: Any, timeout: float | None = None, return_when: str = "ALL_COMPLETED"
) -> Any:
    futures = list(fs)
    all_together = return_when == "ALL_COMPLETED"
    if all_together or not _is_frozen(session, caller(), f"wait({return_when})") or not futures:
        return original(futures, timeout, return_when)
    first = min(futures, key=_submitted)
    done = original([first], timeout)
    return done._replace(not_done=done.not_done | {future for future in futures if future is not first})


@replacement
def _imap_unordered(session: Session, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    if _is_frozen(session, caller(), "Pool.imap_unordered"):
        return self.imap(*args, **kwargs)
    return original(self, *args, **kwargs)


@replacement
def _apply_async(session: Session, original: Any, self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
    calls_back = kwargs.get("callback") is not None or len(args) > 2
    frozen = calls_back and _is_frozen(session, caller(), "Pool.apply_async(callback=…)")
    result = original(self, func, *args, **kwargs)
    if frozen:
        result.wait()
    return result


class CompletionOrder(Source):
    name = NAME
    codes = ("TW205", "TW403")
    actions = ("take",)
    weight = Weight(init=4, batch=11, later=8)
    points = (
        Point("concurrent.futures._base:Future.__init__", _number, "the order in which work is submitted"),
        Point("concurrent.futures._base:as_completed", _as_completed, "results in completion order",
              everywhere="concurrent"),
        Point("concurrent.futures._base:wait", _wait, "results in completion order", everywhere="concurrent"),
        Point("multiprocessing.pool:Pool.imap_unordered", _imap_unordered, "results in completion order"),
        Point("multiprocessing.pool:Pool.apply_async", _apply_async, "callbacks in completion order"),
    )  # fmt: skip

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for pair in evidence.of(self.name, "take"):
            event = one(pair)
            instead = _INSTEAD.get(event.call, NUMBERED)
            yield self.suspect(
                [event],
                f"{event.call} gives results in completion order",
                code=race_code(evidence),
                experiment="with the results taken in the order in which the work was submitted",
                advice=f"take the results in the order in which the work was submitted: {instead}",
            )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        return look_for_races(self.events_of(events, "take"))
