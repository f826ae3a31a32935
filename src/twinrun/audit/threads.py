"""Threads and processes of the program's own that make its data: several of them race for one stream, or for
the place in a queue (TW205). One of them alone does not.
"""

from __future__ import annotations

import ast

from twinrun.audit import calls
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.containers import put_in, spill
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks, Origin
from twinrun.audit.values import Thing, plain, total
from twinrun.audit.world import Collector

_POOL = "(pool)"
_QUEUE = "(queue)"


def _pool(call: Call) -> Thing:
    workers = call.argument(0, "max_workers" if "Executor" in call.path else "processes")
    several = workers is None or workers.constant != 1
    return Thing("object", path=_POOL, constant=several, born=call.world.tick())


def pool_method(call: Call) -> Thing:
    """`pool.map(f, …)`, `pool.submit(f, …)` and their kin."""
    pool = call.receiver or plain()
    function = call.argument(0, "fn") or call.argument(0, "func") or plain()
    given = _handed_over(call)
    with call.world.collecting("loader") as collector:
        result = calls.call_thing(call.world, call.frame, call.node, function, given)
    marks: Marks = NONE
    if pool.constant is True:
        marks = _raced(call, collector)
    if call.path in ("submit", "apply_async", "apply"):
        return Thing("object", total(result) | marks, path="(future)")
    made = Thing("list", marks, items=[])
    put_in(made, result)
    spill(made)
    if call.path == "imap_unordered":
        made.marks |= _completion(call)
    return made


def _handed_over(call: Call) -> Arguments:
    """What the function is called with: elements for `map`, the arguments themselves for `submit`."""
    if call.path == "submit":
        return Arguments(call.args[1:], call.keywords, call.spread, call.open)
    if call.path in ("apply", "apply_async"):
        args = call.argument(1, "args")
        return Arguments(list(args.items or ()) if args is not None else [])
    elements = [calls.iterated(call, given) for given in call.args[1:]]
    if "starmap" in call.path and elements and elements[0].items is not None:
        return Arguments(list(elements[0].items))
    return Arguments(elements)


def _raced(call: Call, collector: Collector) -> Marks:
    """Draws from a state that was there before: the workers share it, or replay copies of it."""
    shared = [draw for draw in collector.draws if draw.kind == "host" and draw.born < collector.start]
    if not shared:
        return NONE
    race = call.world.origin_at("TW205", shared[0].site, shared[0].what)
    _explain(race, f"several workers call it, from {call.frame.module.shown}:{call.node.lineno}")
    for draw in shared:
        for origin in draw.origins:
            origin.covered_by = race
    return frozenset({(race, VALUE)})


def _explain(race: Origin, line: str) -> None:
    race.raced = True
    if line not in race.evidence:
        race.evidence.append(line)


def _completion(call: Call) -> Marks:
    origin = call.world.origin("TW205", call.frame, call.node, part="completion")
    _explain(origin, "results come in the order in which the workers happen to finish")
    return frozenset({(origin, ORDER)})


def _as_completed(call: Call) -> Thing:
    futures = call.args[0] if call.args else plain()
    made = Thing("list", _completion(call), items=[])
    put_in(made, calls.iterated(call, futures))
    spill(made)
    return made


def _thread(call: Call) -> Thing:
    """`threading.Thread(target=f)`: alone it only works ahead; of several, who comes first varies."""
    target = call.argument(None, "target")
    if target is None:
        return Thing("object", path="(thread)")
    args = call.argument(None, "args")
    world = call.world
    several = _one_of_several(call)
    outer, world.thread = world.thread, id(call.node)
    world.racing += several
    with world.collecting("loader") as collector:
        given = Arguments(list(args.items or ()) if args is not None else [])
        result = calls.call_thing(world, call.frame, call.node, target, given)
    world.racing -= several
    world.thread = outer
    marks = _raced(call, collector) if several else NONE
    return Thing("object", total(result) | marks, path="(thread)")


def _one_of_several(call: Call) -> bool:
    """Whether more than one of them runs at a time: made in a loop that does not wait for each."""
    return any(not any(_waits(node) for node in body) for body in call.world.repeats)


def _waits(body: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and not node.args
        for node in ast.walk(body)
    )


def _queue(call: Call) -> Thing:
    return Thing("object", path=_QUEUE, born=call.world.tick())


def queue_method(call: Call) -> Thing:
    """What goes into a queue comes out of it; put there by several threads, in an order that varies."""
    queue = call.receiver or plain()
    if call.path in ("put", "put_nowait"):
        queue.mark(call.marks | call.world.control)
        queue.ref = {*(queue.ref or ()), call.world.thread}  # who has put into it so far
        if call.world.racing or len(queue.ref - {0}) > 1:
            origin = call.world.origin("TW205", call.frame, call.node, part="queue")
            _explain(origin, "several threads put into this queue")
            queue.mark(frozenset({(origin, ORDER)}))
        return plain()
    if call.path in ("get", "get_nowait"):
        return plain(frozenset((o, VALUE) for o, _ in total(queue)))
    return plain()


FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(
        (
            "concurrent.futures.ThreadPoolExecutor",
            "concurrent.futures.ProcessPoolExecutor",
            "concurrent.futures.thread.ThreadPoolExecutor",
            "concurrent.futures.process.ProcessPoolExecutor",
            "multiprocessing.Pool",
            "multiprocessing.pool.Pool",
            "multiprocessing.pool.ThreadPool",
            "multiprocessing.dummy.Pool",
        ),
        _pool,
    ),
    "concurrent.futures.as_completed": _as_completed,
    "threading.Thread": _thread,
    "multiprocessing.Process": _thread,
    **dict.fromkeys(
        (
            "queue.Queue",
            "queue.SimpleQueue",
            "multiprocessing.Queue",
            "queue.LifoQueue",
            "multiprocessing.SimpleQueue",
        ),
        _queue,
    ),
}

TYPES: dict[str, Handler] = {_POOL: pool_method, _QUEUE: queue_method}
