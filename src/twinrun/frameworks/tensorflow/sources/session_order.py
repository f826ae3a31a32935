"""Ops of one `Session.run` that update or read the same variable in no fixed order. For an experiment the ops of the run
are executed one at a time, which gives them one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from twinrun.frameworks.lazy import Lazy
from twinrun.frameworks.packages import tf_point
from twinrun.frameworks.tensorflow.session_clash import Clash
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, one
from twinrun.protocol.source import SecondLook, Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.sources.threads import look_for_races
from twinrun.twin.callers import caller

NAME = "session-order"
_c_api = Lazy("tensorflow.python.client.pywrap_tf_session")
_config = Lazy("tensorflow.core.protobuf.config_pb2")
_IN_THE_CALLING_THREAD = -1


def _do_run(session: Any, original: Any) -> Any:
    from twinrun.frameworks.tensorflow.session_graph import plan_of

    def clash_in(graph: Any, asked: list[Any], feeds: Any) -> Clash | None:
        with contextlib.suppress(Exception):  # the observer reads the same plan, and reports what fails
            return plan_of(graph, asked, [reference.deref() for reference in feeds]).clash
        return None

    def do_run(
        self: Any, handle: Any, targets: Any, fetches: Any, feeds: Any, options: Any, metadata: Any
    ) -> Any:
        def run(options: Any) -> Any:
            return original(self, handle, targets, fetches, feeds, options, metadata)

        whole = handle is None  # a run in parts is ordered by the parts
        clash = clash_in(self.graph, [*fetches, *targets], feeds) if whole and session.log.recording else None
        if clash is None:
            return run(options)
        who = caller()
        session.log.record(NAME, "run", who, "Session.run", detail=clash)
        if session.log.frozen(NAME, "run", who) is None:
            return run(options)
        ordered = _one_at_a_time(options)
        try:
            return run(ordered)
        finally:
            _c_api.TF_DeleteBuffer(ordered)

    return do_run


def _one_at_a_time(options: Any) -> Any:
    """The options of a run, in a new buffer, with all ops executed by the thread that asks for it."""
    message = _config.RunOptions()
    if options is not None:
        message.ParseFromString(_c_api.TF_GetBuffer(options))
    message.inter_op_thread_pool = _IN_THE_CALLING_THREAD
    return _c_api.TF_NewBufferFromString(message.SerializeToString())


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
                experiment="with the ops of this run executed one at a time",
                advice="make one of the two inside `with tf.control_dependencies([the_other]):`, or run them one "
                "after the other",
            )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        return look_for_races(self.events_of(events, "run"))
