"""The packages that are patched, and their points: each named below the package, installed right after the program has
imported it, and tested on the same releases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twinrun.protocol.point import Need, Point, Wrap


@dataclass(frozen=True)
class Package:
    name: str
    below: str  # where its points are
    tested_on: str

    def point(
        self,
        place: str,
        wrap: Wrap,
        reason: str,
        *needed_for: Need,
        everywhere: bool = False,
        entrance: str = "",
        optional: bool = False,
    ) -> Point:
        """`place` and `entrance` as in `Point`, without what all places of the package start with."""
        place, entrance = f"{self.below}.{place}", f"{self.below}.{entrance}" if entrance else ""
        package = self.name if everywhere else ""
        needs = needed_for or ("cause",)
        return Point(place, wrap, reason, needs, self.tested_on, self.name, package, entrance, optional)

    def points(
        self, place: str, names: Iterable[str], wrap: Wrap, reason: str, *needed_for: Need, **more: Any
    ) -> tuple[Point, ...]:
        """Points that differ only in a name, which stands for {} in `place`."""
        return tuple(self.point(place.format(name), wrap, reason, *needed_for, **more) for name in names)


TENSORFLOW = Package("tensorflow", "tensorflow.python", "TensorFlow 2.18 to 2.21")
KERAS = Package("keras", "keras.src", "Keras 3.8 to 3.15")
TF_KERAS = Package("tf_keras", "tf_keras.src", "tf_keras 2.18 to 2.21")
tf_point, tf_points = TENSORFLOW.point, TENSORFLOW.points
