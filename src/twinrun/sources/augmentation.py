"""Transforms of albumentations: from release 2 on each has generators of its own. Part of the source `generators`.

A transform makes them without a seed, and others when it is put into a composition: with the seed of that one, or again
without. Those that it had before are drawn from no more, and are nothing to blame."""

from __future__ import annotations

import weakref
from typing import Any

from twinrun.protocol import Point, replacement
from twinrun.sources.library_generators import NAME, makings
from twinrun.twin.callers import Caller
from twinrun.twin.session import Session

_makings: dict[int, list[Caller]] = {}  # by the transform's address: it may have a hash of its own, or none


@replacement
def _set_random_seed(session: Session, original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    key = id(self)
    if key not in _makings:
        weakref.finalize(self, _makings.pop, key, None)
    for who in _makings.get(key, ()):
        session.log.retract(NAME, "make", who)
    with makings() as _makings[key]:
        original(self, *args, **kwargs)


POINTS = tuple(
    Point(
        f"albumentations.core.{place}.set_random_seed",
        _set_random_seed,
        "generators that a transform draws from no more",
        tested_on="albumentations 2.0",
        after="albumentations",
        optional=True,  # before release 2 there is none
    )
    for place in ("composition:BaseCompose", "transforms_interface:BasicTransform")
)
