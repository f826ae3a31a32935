"""Threads and processes that make the program's data: several of them race for one stream, or for the place in a
queue (TW205). One alone does not. Keras loaders (`PyDataset`, once `Sequence`) are such workers too.
"""

from __future__ import annotations

import ast

from twinrun.knowledge.functions import PYTHON, Kind, names_of
from twinrun.source_audit.abstract_values import Arguments, Value, plain, total
from twinrun.source_audit.containers import collection_of
from twinrun.source_audit.marks import NONE, ORDER, VALUE, Marks, Origin, as_value
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.state import Draw

_POOL, _QUEUE = "(pool)", "(queue)"
_CALLED = "several workers call it, from"
_LOADERS = tuple(names_of(Kind.LOADER))

# -- pools --------------------------------------------------------------------------------------------


def _pool(call: Call) -> Value:
    several = call.constant(0, "max_workers" if "Executor" in call.path else "processes") != 1
    return Value("object", path=_POOL, constant=several, created=call.state.tick())


def _pool_method(call: Call) -> Value:
    """`pool.map(f, …)`, `pool.submit(f, …)` and the like."""
    function = call.argument(0, "fn") or call.argument(0, "func") or plain()
    given = _passed_on(call)
    with call.state.collecting("loader") as collector:
        result = call.invoke(function, given)
    marks = _raced(call, collector.shared("host"), _CALLED) if call.receiver.constant is True else NONE
    if call.path in ("submit", "apply_async", "apply"):
        return Value("object", total(result) | marks, path="(future)")
    made = collection_of(result, marks=marks)
    if call.path == "imap_unordered":
        made.marks |= _completion_order(call)
    return made


def _passed_on(call: Call) -> Arguments:
    """What the function is called with: elements for `map`, the arguments themselves for `submit`."""
    if call.path == "submit":
        return Arguments(call.args[1:], call.keywords, call.spread, call.open)
    if call.path in ("apply", "apply_async"):
        return Arguments(call.items(1, "args"))
    elements = [call.iterate(given) for given in call.args[1:]]
    if "starmap" in call.path and elements and elements[0].items is not None:
        return Arguments(list(elements[0].items))
    return Arguments(elements)


def _raced(call: Call, draws: list[Draw], line: str) -> Marks:
    """Draws from a state that was there before, which workers share or replay copies of: a race where the first is."""
    if not draws:
        return NONE
    race = _race_at(call, draws[0])
    race.race(f"{line} {call.frame.module.shown}:{call.node.lineno}")
    for draw in draws:
        draw.cover(race)
    return frozenset({(race, VALUE)})


def _race_at(call: Call, draw: Draw) -> Origin:
    origins, key = call.state.origins, ("TW205", draw.site)
    if key not in origins:
        origins[key] = Origin("TW205", draw.site.file, draw.site.line, draw.what, call.state.tick())
    return origins[key]


def _completion_order(call: Call) -> Marks:
    origin = call.origin("TW205", part="completion")
    origin.race("results come in completion order")
    return frozenset({(origin, ORDER)})


def _as_completed(call: Call) -> Value:
    return collection_of(call.iterate(call.first), marks=_completion_order(call))


# -- threads and queues -------------------------------------------------------------------------------


def _thread(call: Call) -> Value:
    """`threading.Thread(target=f)`: alone it only works ahead; of several, which comes first varies."""
    target = call.argument(None, "target")
    if target is None:
        return Value("object", path="(thread)")
    # More than one runs at a time when they are made in a loop that does not wait for each.
    several = any(not any(_waits(node) for node in body) for body in call.state.repeats)
    thread = call.state.during(thread=id(call.node), racing=call.state.racing or several)
    with thread, call.state.collecting("loader") as collector:
        result = call.invoke(target, Arguments(call.items(None, "args")))
    marks = _raced(call, collector.shared("host"), _CALLED) if several else NONE
    return Value("object", total(result) | marks, path="(thread)")


def _waits(body: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and not node.args
        for node in ast.walk(body)
    )


def _queue_method(call: Call) -> Value:
    """What is put into a queue comes out of it; put there by several threads, in an order that varies."""
    queue = call.receiver
    if call.path in ("get", "get_nowait"):
        return plain(as_value(total(queue)))
    if call.path in ("put", "put_nowait"):
        queue.mark(call.marks | call.state.control)
        queue.ref = {*(queue.ref or ()), call.state.thread}  # who has put into it so far
        if call.state.racing or len(queue.ref - {0}) > 1:
            origin = call.origin("TW205", part="queue")
            origin.race("several threads put into this queue")
            queue.mark(frozenset({(origin, ORDER)}))
    return plain()


# -- Keras loaders ------------------------------------------------------------------------------------


def is_loader(value: Value) -> bool:
    return value.kind == "instance" and bool(value.ref.derives_from(*_LOADERS))


def fed_by_loader(call: Call, loader: Value) -> Marks:
    """The marks of what a loader hands to fit, and of the order in which fit asks for its batches."""
    marks, drawn = _fetched(call, loader)
    if _has_workers(call, loader):
        marks |= _raced(call, drawn, f"several workers fetch batches for {call.path}() at")
    if call.path == "fit" and call.constant(None, "shuffle", True) is True:
        marks |= call.draw(PYTHON, "TW201", kind="seed", part="fit")
    return marks


def _has_workers(call: Call, loader: Value) -> bool:
    """Whether several workers fetch batches: as far as can be seen from the loader and the call of fit."""
    for holder in (loader.attribute("workers"), call.keywords.get("workers")):
        if holder is not None and holder.constant not in (None, 0, 1):
            return True
    several = loader.attribute("use_multiprocessing") or call.keywords.get("use_multiprocessing")
    return several is not None and several.constant is True


def _fetched(call: Call, loader: Value) -> tuple[Marks, list[Draw]]:
    """The marks of a batch, and what is drawn in fetching it from a state that other fetches share."""
    marks: Marks = NONE
    drawn: list[Draw] = []
    for name in ("__getitem__", "on_epoch_end"):
        method = loader.ref.method(name, loader)
        if method is None:
            continue
        with call.state.collecting("loader") as collector:
            marks |= total(call.enter_unknown(method))
        if name == "__getitem__":
            drawn = collector.shared("host")
    return marks, drawn


KINDS: dict[tuple[Kind, str], Handler] = {
    (Kind.POOL, ""): _pool,
    (Kind.THREAD, ""): _thread,
    (Kind.QUEUE, ""): lambda call: Value("object", path=_QUEUE, created=call.state.tick()),
}
FUNCTIONS: dict[str, Handler] = {"concurrent.futures.as_completed": _as_completed}
TYPES: dict[str, Handler] = {_POOL: _pool_method, _QUEUE: _queue_method}
