"""Ops of one `Session.run` that update or read the same variable in no fixed order. For an experiment they
are run one after the other, which gives them one."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from twinrun.frameworks.packages import tf_point
from twinrun.frameworks.tensorflow.session_clash import Clash
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, one
from twinrun.protocol.source import SecondLook, Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.sources.threads import look_for_races
from twinrun.twin.callers import caller

NAME = "session-order"


def _do_run(session: Any, original: Any) -> Any:
    from twinrun.frameworks.tensorflow.session_graph import plan_of

    def do_run(
        self: Any, handle: Any, targets: Any, fetches: Any, feeds: Any, options: Any, metadata: Any
    ) -> Any:
        def clash(*asked: Any) -> Clash | None:
            with contextlib.suppress(Exception):  # the observer reads the same plan, and reports what fails
                return plan_of(self.graph, list(asked), [reference.deref() for reference in feeds]).clash
            return None

        def run(targets: list[Any], fetches: list[Any]) -> Any:
            return original(self, handle, targets, fetches, feeds, options, metadata)

        whole = handle is None  # a run in parts is ordered by the parts
        found = clash(*fetches, *targets) if whole and session.log.recording else None
        if found is None:
            return run(targets, fetches)
        who = caller()
        session.log.record(NAME, "run", who, "Session.run", detail=found)
        if session.log.frozen(NAME, "run", who) is None:
            return run(targets, fetches)
        results: dict[Any, Any] = {}
        for part in _parts([*fetches, *targets], clash):
            tensors = [one for one in part if hasattr(one, "op")]
            values = run([one for one in part if not hasattr(one, "op")], tensors)
            results.update(zip(map(id, tensors), values, strict=True))
        return [results[id(tensor)] for tensor in fetches]

    return do_run


def _parts(asked: Iterable[Any], clash: Callable[..., Clash | None]) -> list[list[Any]]:
    """What a run was asked for, in parts of which none clashes with itself, as far as it can be taken apart."""
    parts: list[list[Any]] = [[]]
    left = deque(asked)
    while left:
        one = left.popleft()
        if clash(one) and getattr(one, "type", "") == "NoOp" and one.control_inputs:  # what tf.group makes
            left.extendleft(reversed(one.control_inputs))
            continue
        if parts[-1] and clash(*parts[-1], one):
            parts.append([])
        parts[-1].append(one)
    return parts


class SessionOrder(Source):
    name = NAME
    codes = ("TW403",)
    actions = ("run",)
    weight = Weight(init=1, batch=3, later=9)
    points = (
        tf_point("client.session:BaseSession._do_run", _do_run, "updates of one run that nothing orders"),
    )

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for pair in evidence.of(self.name, "run"):
            event = one(pair)
            clash = event.detail_as(Clash)
            twice = all(use.changes for use in clash.uses)
            what = f"changes {clash.variable} twice" if twice else f"reads and changes {clash.variable}"
            yield self.suspect(
                [event],
                f"one Session.run {what}, in no fixed order",
                notes=(f"{' and '.join(map(str, clash.uses))}: neither waits for the other",),
                experiment="with these run one after the other",
                advice="make one of the two inside `with tf.control_dependencies([the_other]):`, or run them one "
                "after the other",
            )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        return look_for_races(self.events_of(events, "run"))
