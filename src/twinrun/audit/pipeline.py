"""The stages of tf.data: order given up (TW202), random state raced by parallel calls (TW203, TW204), and a
cache that freezes random augmentation (TW107). A dataset counts as reaching training.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from twinrun.audit import calls, expressions
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.containers import element_of
from twinrun.audit.dataset import dataset, stages_of, stages_together
from twinrun.audit.dataset_sources import mixed, shuffled, unordered
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks
from twinrun.audit.values import MISSING, Thing, total
from twinrun.audit.world import Collector, Frame, World


def options_assigned(world: World, frame: Frame, target: ast.expr, value: Thing, node: ast.stmt) -> None:
    """`options.deterministic = False`."""
    if not isinstance(target, ast.Attribute) or target.attr not in (
        "deterministic",
        "experimental_deterministic",
    ):
        return
    if value.constant is not False:
        return
    for holder in expressions.evaluate(world, frame, target.value).each():
        if holder.path.startswith("tensorflow.data.Options") or holder.kind == "member":
            origin = world.origin("TW202", frame, node, f"{ast.unparse(target)} = False")
            keeper = holder if holder.kind != "member" else (holder.bound or holder)
            keeper.set_attribute("(unordered)", Thing(ref=origin))


def _with_options(call: Call) -> Thing:
    receiver = call.receiver or dataset()
    stages = stages_of(receiver)
    given = call.argument(0, "options")
    found = given.attribute("(unordered)") if given is not None else None
    if found is not None:
        stages = replace(stages, unordered=(*stages.unordered, found.ref))
    return _acted(call, dataset(total(receiver), stages))


def _acted(call: Call, made: Thing) -> Thing:
    """Options that give up the order act once there is a parallel stage, before or after them."""
    stages = stages_of(made)
    if stages.parallel:
        marks = frozenset((origin, ORDER) for origin in stages.unordered)
        call.world.reach_dataset(marks, call.frame, call.node)
        made.marks |= marks
    return made


# -- mapped functions ---------------------------------------------------------------------------------

_PARALLEL_POSITION = {"map": 1, "interleave": 3, "batch": 2, "padded_batch": 4, "ragged_batch": 5}


def _is_parallel(call: Call) -> bool:
    given = call.argument(_PARALLEL_POSITION.get(call.path), "num_parallel_calls")
    return given is not None and given.constant not in (None, 0, 1)


def _mapped(call: Call) -> Thing:
    """`map`, `interleave` and every other stage that calls a function of the program."""
    receiver = call.receiver or dataset()
    marks = total(receiver)
    stages = stages_of(receiver)
    parallel = _is_parallel(call)
    given = element_of(receiver)
    with call.world.collecting("map") as collector:
        for value in call.everything:
            for each in value.each():
                marks |= _result_marks(call, each, given)
    if parallel:
        _raced(call, collector)
        deterministic = call.argument((_PARALLEL_POSITION.get(call.path) or 98) + 1, "deterministic")
        if deterministic is not None and deterministic.constant is False:
            marks |= unordered(call)
    drawn = tuple(draw for draw in collector.draws if draw.kind in ("op", "generator", "keras", "host"))
    stages = replace(stages, parallel=stages.parallel or parallel, random=(*stages.random, *drawn))
    call.world.reach_dataset(marks, call.frame, call.node)
    return _acted(call, dataset(marks, stages))


def _result_marks(call: Call, function: Thing, given: Thing) -> Marks:
    """What a mapped function gives for one element."""
    if function.kind in ("function", "partial"):
        target = function if function.kind == "function" else function.ref[0]
        if target.kind != "function":
            return NONE
        count = len(target.ref.node.args.args)
        bound = 1 if target.bound is not None else 0
        bound += len(function.ref[1]) + len(function.ref[2]) if function.kind == "partial" else 0
        args = [_element(given) for _ in range(max(count - bound, 0))]
        args = args[: max(count - bound - len(target.ref.defaults), 1)] if count > bound else []
        return total(calls.call_thing(call.world, call.frame, call.node, function, Arguments(args)))
    if function.kind in ("instance", "object"):
        return total(
            calls.call_thing(call.world, call.frame, call.node, function, Arguments([_element(given)]))
        )
    return NONE


def _element(given: Thing) -> Thing:
    value = Thing("object", total(given), path="tensorflow.Tensor")
    value.sure = "not none"
    return value


def _raced(call: Call, collector: Collector) -> None:
    """Parallel calls share what was made outside: a stateful op, a generator, a global stream."""
    shared = [draw for draw in collector.draws if draw.born < collector.start]
    for code, kinds in (("TW203", ("op", "generator", "keras")), ("TW204", ("host",))):
        found = [draw for draw in shared if draw.kind in kinds]
        if not found:
            continue
        race = call.world.origin(code, call.frame, call.node)
        race.raced = True
        for draw in found:
            line = f"{draw.what} at {draw.site.file}:{draw.site.line} is called by several threads at once"
            if line not in race.evidence:
                race.evidence.append(line)
            for origin in draw.origins:
                origin.covered_by = race
        call.world.reach_dataset(frozenset({(race, VALUE)}), call.frame, call.node)


def _cache(call: Call) -> Thing:
    """A cache behind random augmentation replays the first epoch's augmentation in every epoch."""
    receiver = call.receiver or dataset()
    stages = stages_of(receiver)
    if stages.random:
        origin = call.world.origin("TW107", call.frame, call.node)
        first = stages.random[0]
        line = f"{first.what} at {first.site.file}:{first.site.line} is drawn before the cache"
        if line not in origin.evidence:
            origin.evidence.append(line)
        call.world.reach_dataset(frozenset({(origin, VALUE)}), call.frame, call.node)
    return dataset(total(receiver), replace(stages, random=()))


def _apply(call: Call) -> Thing:
    """`ds.apply(transformation)`."""
    receiver = call.receiver or dataset()
    for value in call.args:
        for each in value.each():
            if each.kind in ("function", "partial"):
                return calls.call_thing(call.world, call.frame, call.node, each, Arguments([receiver]))
    return dataset(total(receiver) | call.marks, stages_of(receiver))


def _through(call: Call) -> Thing:
    """Stages that change neither order nor content: batch, repeat, take, prefetch, zip…"""
    receiver = call.receiver or dataset()
    stages = stages_together([receiver, *call.everything])
    if _is_parallel(call):
        stages = replace(stages, parallel=True)
    return _acted(call, dataset(total(receiver) | call.marks, stages))


def _values(call: Call) -> Thing:
    receiver = call.receiver or dataset()
    return Thing("list", total(receiver))


def dataset_method(call: Call) -> Thing:
    """A method of a dataset; unknown stages hand on what they were given."""
    return _METHODS.get(call.path, _through)(call) or dataset()


def method_of_unknown(call: Call) -> Thing | None:
    """A method that only datasets have, on a value that is not known."""
    receiver = call.receiver
    if receiver is None or receiver.kind != "plain" or receiver.constant is not MISSING:
        return None
    certain = "num_parallel_calls" in call.keywords or call.path in ("prefetch", "padded_batch")
    if not certain and not (call.path in ("shuffle", "batch") and len(call.args) in (1, 2)):
        return None
    if not call.frame.module.mentions("tensorflow"):
        return None
    call.receiver = dataset(receiver.marks)
    return dataset_method(call)


def _distributed(call: Call) -> Thing | None:
    """`strategy.experimental_distribute_dataset(ds)` hands the dataset on."""
    given = call.argument(0, "dataset")
    if given is None:
        return None
    if given.kind == "function":
        return calls.enter_unknown(call.world, call.frame, call.node, given)
    return given


_METHODS: dict[str, Handler] = {
    "shuffle": shuffled,
    "map": _mapped,
    "interleave": _mapped,
    "flat_map": _mapped,
    "filter": _mapped,
    "scan": _mapped,
    "map_with_legacy_function": _mapped,
    "group_by_window": _mapped,
    "take_while": _mapped,
    "rejection_resample": mixed(3),
    "cache": _cache,
    "with_options": _with_options,
    "apply": _apply,
    "as_numpy_iterator": _values,
    "reduce": _mapped,
}

METHODS: dict[str, Handler] = {
    **dict.fromkeys(("map", "interleave", "shuffle", "batch", "padded_batch", "prefetch"), method_of_unknown),
    "experimental_distribute_dataset": _distributed,
    "distribute_datasets_from_function": _distributed,
    "experimental_distribute_datasets_from_function": _distributed,
}
