"""What the points of Keras' sources have in common."""

from __future__ import annotations

from twinrun.protocol.point import Need, Point, Wrap


def keras_point(
    place: str, wrap: Wrap, reason: str, *needed_for: Need, package: str = "keras", everywhere: bool = False
) -> Point:
    """A point of Keras 3 or tf_keras, installed right after the program has imported it. `place` starts below
    `keras.src`."""
    return Point(
        f"{package}.src.{place}",
        wrap,
        reason,
        needed_for or ("cause",),
        "tf_keras 2.18 to 2.21" if package == "tf_keras" else "Keras 3.8 to 3.15",
        after=package,
        everywhere=package if everywhere else "",
    )
