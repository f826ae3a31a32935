"""`tf.timestamp`: the clock, read by an op. Its readings are events of the source `clock`, which suspects them."""

from __future__ import annotations

import os
from typing import Any

from twinrun.frameworks.packages import TENSORFLOW
from twinrun.frameworks.tensorflow.runtime import tf
from twinrun.protocol.point import Point
from twinrun.protocol.source import Source
from twinrun.twin.callers import caller


def _timestamp(session: Any, original: Any) -> Any:
    from twinrun.comparison.shown import AHEAD
    from twinrun.frameworks.tensorflow.tensors import as_array

    entropy = getattr(os.urandom, "__wrapped__", os.urandom)
    moved = session.varied.get("clock") == "moved" or session.log.freezes_everywhere("clock", "ahead")
    ahead = AHEAD if moved else 0.0

    def timestamp(name: Any = None) -> Any:
        who = caller()
        number = session.log.frozen("clock", "read", who)
        now = tf.constant(float(number), tf.float64) if number is not None else original(name)
        if ahead and number is None:
            now += ahead
        array = as_array(now)  # None in a graph, which reads the clock each time it runs
        data = entropy(8) if array is None else array.tobytes()
        session.log.record("clock", "read", who, "tf.timestamp", data)
        return now

    return timestamp


class Timestamp(Source):
    name = "tf-timestamp"
    codes = ("TW303",)
    points = (
        Point(
            "tensorflow:timestamp", _timestamp, "the clock, read by an op", ("cause",), TENSORFLOW.tested_on
        ),
    )
