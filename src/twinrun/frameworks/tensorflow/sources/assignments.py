"""Values that the program gives to a variable of several replicas, outside of the strategy: one that only some replicas get
sets them apart. An experiment leaves the assignment out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from twinrun.frameworks.packages import tf_points
from twinrun.frameworks.tensorflow.runtime import context
from twinrun.protocol import Evidence, Source, Suspect, Weight, one
from twinrun.twin.callers import caller

NAME = "assignments"
_COPY = re.compile(r"(/replica_\d+)?(#\d+)?(:\d+)?$")


def _assign(session: Any, original: Any) -> Any:
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not context.executing_eagerly() or not hasattr(self.handle, "_distributed_container"):
            return original(self, *args, **kwargs)
        who = caller()
        name = _COPY.sub("", str(self.name))
        if who is not None and session.log.frozen(NAME, "assign", who) is not None:
            return self
        session.log.record(NAME, "assign", who, f"{name}.assign", subject=name)
        return original(self, *args, **kwargs)

    return assign


class Assignments(Source):
    name = NAME
    codes = ("TW604",)
    actions = ("assign",)
    weight = Weight(init=9, batch=9, later=9)
    points = tf_points(
        "ops.resource_variable_ops:ResourceVariable.{}", ("assign", "assign_add", "assign_sub"), _assign,
        "values that a program gives to the copies of a variable",
    )  # fmt: skip

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        if not evidence.drift:
            return
        drifting = _COPY.sub("", evidence.first.tensor)
        for event in (one(pair) for pair in evidence.of(self.name, "assign")):
            if event.subject == drifting and event.step <= evidence.first.step:
                yield self.suspect(
                    [event],
                    f"{event.subject} is assigned outside of the strategy, and not in every replica",
                    experiment="with this assignment left out",
                    notes=(
                        f"{evidence.first.process} holds another value from step {evidence.first.step} on",
                    ),
                )
