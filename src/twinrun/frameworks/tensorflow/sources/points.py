"""What the points of TensorFlow's sources have in common."""

from __future__ import annotations

import inspect
from typing import Any

from twinrun.protocol.point import Need, Point, Wrap

TESTED_ON = "TensorFlow 2.18 to 2.21"


def tf_point(
    place: str,
    wrap: Wrap,
    reason: str,
    *needed_for: Need,
    everywhere: bool = False,
    optional: bool = False,
) -> Point:
    """A point of TensorFlow, installed right after the program has imported it. `place` starts below
    `tensorflow.python`."""
    return Point(
        f"tensorflow.python.{place}",
        wrap,
        reason,
        needed_for or ("cause",),
        TESTED_ON,
        after="tensorflow",
        everywhere="tensorflow" if everywhere else "",
        optional=optional,
    )


def bind(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments of a call by name. None where they do not fit: the original is to say so."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None
