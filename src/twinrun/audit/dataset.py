"""A dataset as a value: its marks, and what is known of the stages behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twinrun.audit.marks import NONE, Marks, Origin
from twinrun.audit.values import Thing
from twinrun.audit.world import Draw


@dataclass(frozen=True, slots=True)
class Stages:
    """What is known of the stages behind a dataset."""

    parallel: bool = False
    unordered: tuple[Origin, ...] = ()
    """Options that give up the order, waiting for a parallel stage to act on."""
    random: tuple[Draw, ...] = ()
    """Draws in mapped functions, for a cache that would freeze them."""


def dataset(marks: Marks = NONE, stages: Stages | None = None) -> Thing:
    return Thing("dataset", marks, ref=stages or Stages())


def stages_of(thing: Thing | None) -> Stages:
    for each in thing.each() if thing is not None else ():
        if isinstance(each.ref, Stages):
            return each.ref
    return Stages()


def stages_together(things: Iterable[Thing]) -> Stages:
    """The stages of several datasets that become one."""
    found = [stages_of(each) for thing in things for each in (thing, *(thing.items or ()))]
    return Stages(
        any(each.parallel for each in found),
        tuple(dict.fromkeys(origin for each in found for origin in each.unordered)),
        tuple(dict.fromkeys(draw for each in found for draw in each.random)),
    )
