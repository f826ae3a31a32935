"""Keras loaders of the program's own: `PyDataset` (once `Sequence`) with several workers (TW205)."""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Call
from twinrun.audit.marks import NONE, VALUE, Marks, Origin
from twinrun.audit.values import Thing, total
from twinrun.audit.world import PYTHON, Draw

_LOADERS = ("keras.utils.PyDataset", "keras.utils.Sequence")


def is_loader(thing: Thing) -> bool:
    return thing.kind == "instance" and thing.ref.derives_from(*_LOADERS)


def _workers(call: Call, loader: Thing) -> bool:
    """Whether several workers fetch batches: as far as can be seen from the loader and the call of fit."""
    for holder in (loader.attribute("workers"), call.keywords.get("workers")):
        if holder is not None and holder.constant not in (None, 0, 1):
            return True
    several = loader.attribute("use_multiprocessing") or call.keywords.get("use_multiprocessing")
    return several is not None and several.constant is True


def fed_by_loader(call: Call, loader: Thing) -> Marks:
    """What a loader hands to fit, and the order in which fit asks for its batches."""
    marks, drawn = _fetched(call, loader)
    if drawn and _workers(call, loader):
        marks |= {(_raced(call, drawn), VALUE)}
    shuffle = call.keywords.get("shuffle")
    if call.path == "fit" and (shuffle is None or shuffle.constant is True):
        marks |= call.world.draw(PYTHON, "TW201", call.frame, call.node, kind="seed", part="fit")
    return marks


def _fetched(call: Call, loader: Thing) -> tuple[Marks, list[Draw]]:
    """The marks of a batch, and what is drawn in fetching it from a state that other fetches share."""
    marks: Marks = NONE
    drawn: list[Draw] = []
    for name in ("__getitem__", "on_epoch_end"):
        method = loader.ref.find(name)
        if method is None or method.kind != "function":
            continue
        bound = Thing("function", ref=method.ref, bound=loader)
        with call.world.collecting("loader") as collector:
            marks |= total(calls.enter_unknown(call.world, call.frame, call.node, bound))
        if name == "__getitem__":
            drawn = [draw for draw in collector.draws if draw.kind == "host" and draw.born < collector.start]
    return marks, drawn


def _raced(call: Call, drawn: list[Draw]) -> Origin:
    first = drawn[0]
    race = call.world.origin_at("TW205", first.site, first.what)
    race.raced = True
    line = f"several workers fetch batches for {call.path}() at {call.frame.module.shown}:{call.node.lineno}"
    if line not in race.evidence:
        race.evidence.append(line)
    for draw in drawn:
        for origin in draw.origins:
            origin.covered_by = race
    return race
