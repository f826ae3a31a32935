"""tf.data: where datasets come from, the stages behind them, and the functions that TensorFlow calls on the host.

Shuffles without a seed (TW201), order that is given up (TW202), random state raced for by parallel calls (TW203,
TW204), and a cache that freezes random augmentation (TW107). A dataset counts as reaching training.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from twinrun.knowledge.functions import Kind, Known, known_method, last
from twinrun.source_audit.abstract_values import MISSING, Arguments, Value, total
from twinrun.source_audit.containers import element_of
from twinrun.source_audit.marks import NONE, ORDER, VALUE, Marks, Origin
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.state import Collector, Draw, Frame

_DATASET = "tensorflow.data.Dataset"
_PACKAGES = ("tensorflow", "keras")
_DRAWN = ("op", "generator", "keras", "host")


@dataclass(frozen=True, slots=True)
class Stages:
    """What is known of the stages behind a dataset."""

    parallel: bool = False
    # Options that give up the order, waiting for a parallel stage to act on.
    unordered: tuple[Origin, ...] = ()
    random: tuple[Draw, ...] = ()  # draws in mapped functions, for a cache that would freeze them


def dataset(marks: Marks = NONE, stages: Stages | None = None) -> Value:
    return Value("dataset", marks, ref=stages or Stages())


def _stages(value: Value) -> Stages:
    return next((each.ref for each in value.each() if isinstance(each.ref, Stages)), Stages())


def _stages_together(values: Iterable[Value]) -> Stages:
    """The stages of several datasets that become one."""
    found = [_stages(each) for value in values for each in (value, *(value.items or ()))]
    unordered = dict.fromkeys(origin for each in found for origin in each.unordered)
    random = dict.fromkeys(draw for each in found for draw in each.random)
    return Stages(any(each.parallel for each in found), tuple(unordered), tuple(random))


# -- where datasets come from -------------------------------------------------------------------------


def _from_data(call: Call) -> Value:
    """A dataset made of data in memory, or of named files: the data reaches training."""
    marks = call.spread.union(*(total(call.iterate(value)) | total(value) for value in call.args))
    call.reach_dataset(marks)
    return dataset(frozenset((o, ORDER if mode != VALUE else mode) for o, mode in marks))


def _in_random_order(call: Call, function: Known) -> Value:
    """A dataset in random order, or a random choice; not when it has a seed, or the stream behind it has."""
    marks = total(call.receiver) if call.receiver.kind == "dataset" else call.reach_dataset(call.marks)
    if call.switched_on(function.switch):
        marks |= call.reach_dataset(call.seeded_draw(function, "TW201", kind="seed", mode=ORDER))
    stages = _stages(call.receiver)
    if last(call.path) == "split_dataset" or call.constant(None, "subset") == "both":
        return Value("tuple", items=[dataset(marks, stages), dataset(marks, stages)])
    return dataset(marks, stages)


def _tfds_load(call: Call) -> Value:
    """`tfds.load(shuffle_files=True)` turns `deterministic` off unless a ReadConfig gives a seed."""
    made = dataset(call.marks, Stages(parallel=True))
    if call.constant(None, "shuffle_files") is True and not call.given(None, "read_config"):
        made.marks |= _unordered(call)
    splits = call.items(1, "split")
    whole = Value("list", items=[made.copied() for _ in splits]) if splits else made
    if call.constant(None, "with_info") is True:
        return Value("tuple", items=[whole, Value("object", path="tensorflow_datasets.info")])
    return whole


def _unordered(call: Call) -> Marks:
    """The order is given up here (TW202)."""
    return call.reach_dataset(call.varies("TW202", ORDER))


def _combined(call: Call) -> Value:
    """Datasets put together: zipped, or chosen from by another."""
    return dataset(call.marks, _stages_together(call.everything))


# -- on the host --------------------------------------------------------------------------------------


def _host_marks(call: Call, function: Value | None, args: list[Value]) -> Marks:
    """The marks of what a function returns that is called later, on the host."""
    marks: Marks = NONE
    with call.state.collecting("host"), call.state.during(deferring=True):
        for each in function.each() if function is not None else ():
            result = each
            if each.kind in ("function", "partial", "instance"):
                result = call.invoke(each, Arguments(args))
            elif each.kind not in ("generator", "list"):
                continue
            marks |= total(result) | total(element_of(result))
    return marks


def _py_function(call: Call) -> Value:
    inputs = call.argument(1, "inp")
    args = call.items(1, "inp")
    if inputs is not None and inputs.items is None:
        args = [element_of(inputs)]
    marks = call.marks | _host_marks(call, call.argument(0, "func"), args)
    return Value("object", marks, path="tensorflow.Tensor")


def _from_generator(call: Call) -> Value:
    marks = call.marks | _host_marks(call, call.argument(0, "generator"), call.items(None, "args"))
    return dataset(call.reach_dataset(marks))


# -- options ------------------------------------------------------------------------------------------


def options_assigned(frame: Frame, target: ast.expr, value: Value, node: ast.stmt) -> None:
    """`options.deterministic = False`."""
    options = ("deterministic", "experimental_deterministic")
    if not isinstance(target, ast.Attribute) or target.attr not in options or value.constant is not False:
        return
    for holder in frame.evaluate(target.value).each():
        if holder.path.startswith("tensorflow.data.Options") or holder.kind == "member":
            origin = frame.state.origin("TW202", frame, node, f"{ast.unparse(target)} = False")
            keeper = holder if holder.kind != "member" else (holder.bound or holder)
            keeper.set_attribute("(unordered)", Value(ref=origin))


def _with_options(call: Call) -> Value:
    stages = _stages(call.receiver)
    given = call.argument(0, "options")
    found = given.attribute("(unordered)") if given is not None else None
    if found is not None:
        stages = replace(stages, unordered=(*stages.unordered, found.ref))
    return _with_order_given_up(call, dataset(total(call.receiver), stages))


def _with_order_given_up(call: Call, made: Value) -> Value:
    """Options that give up the order take effect once there is a parallel stage, before or after them."""
    stages = _stages(made)
    if stages.parallel:
        made.marks |= call.reach_dataset(frozenset((origin, ORDER) for origin in stages.unordered))
    return made


# -- stages -------------------------------------------------------------------------------------------


def _is_parallel(call: Call, stage: Known | None) -> bool:
    position = stage.parallel if stage is not None else None
    return call.constant(position, "num_parallel_calls") not in (None, 0, 1)


def _mapped(call: Call) -> Value:
    """`map`, `interleave` and every other stage that calls a function of the program."""
    stage = known_method(call.path, _DATASET)
    marks = total(call.receiver)
    parallel = _is_parallel(call, stage)
    given = element_of(call.receiver)
    with call.state.collecting("map") as collector:
        called = [each for value in call.everything for each in value.each()]
        marks = marks.union(*(_result_marks(call, each, given) for each in called))
    if parallel:
        _raced(call, collector)
        if call.constant(stage.deterministic if stage is not None else None, "deterministic") is False:
            marks |= _unordered(call)
    drawn = (draw for draw in collector.draws if draw.kind in _DRAWN)
    before = _stages(call.receiver)
    stages = replace(before, parallel=before.parallel or parallel, random=(*before.random, *drawn))
    call.reach_dataset(marks)
    return _with_order_given_up(call, dataset(marks, stages))


def _result_marks(call: Call, function: Value, given: Value) -> Marks:
    """The marks of what a mapped function returns for one element."""
    marks = total(given)
    if function.kind in ("instance", "object"):
        return total(call.invoke(function, Arguments([_element(marks)])))
    if function.kind not in ("function", "partial"):
        return NONE
    target, first, keywords = (function, (), {}) if function.kind == "function" else function.ref
    if target.kind != "function":
        return NONE
    wanted = len(target.ref.node.args.args) - (target.bound is not None) - len(first) - len(keywords)
    count = max(wanted - len(target.ref.defaults), 1) if wanted > 0 else 0
    return total(call.invoke(function, Arguments([_element(marks) for _ in range(count)])))


def _element(marks: Marks) -> Value:
    return Value("object", marks, path="tensorflow.Tensor", sure="not none")


def _raced(call: Call, collector: Collector) -> None:
    """Parallel calls share what was created outside: a stateful op, a generator, a global stream."""
    for code, kinds in (("TW203", ("op", "generator", "keras")), ("TW204", ("host",))):
        for draw in collector.shared(*kinds):
            call.origin(code).race(f"{draw.what} at {draw.site} is called by several threads at once")
            draw.cover(call.origin(code))
            call.reach_dataset(call.varies(code))


def _cache(call: Call) -> Value:
    """A cache behind random augmentation replays the first epoch's augmentation in every epoch."""
    stages = _stages(call.receiver)
    if stages.random:
        first = stages.random[0]
        call.origin("TW107").evidence[:] = [f"{first.what} at {first.site} is drawn before the cache"]
        call.reach_dataset(call.varies("TW107"))
    return dataset(total(call.receiver), replace(stages, random=()))


def _apply(call: Call) -> Value:
    """`ds.apply(transformation)`."""
    for each in (each for value in call.args for each in value.each()):
        if each.kind in ("function", "partial"):
            return call.invoke(each, Arguments([call.receiver]))
    return dataset(total(call.receiver) | call.marks, _stages(call.receiver))


def _through(call: Call) -> Value:
    """Stages that change neither order nor content: batch, repeat, take, prefetch, zip…"""
    stages = _stages_together([call.receiver, *call.everything])
    if _is_parallel(call, known_method(call.path, _DATASET)):
        stages = replace(stages, parallel=True)
    return _with_order_given_up(call, dataset(total(call.receiver) | call.marks, stages))


def dataset_method(call: Call) -> Value:
    """A method of a dataset; unknown stages hand on what they were given."""
    stage = known_method(call.path, _DATASET)
    if stage is not None and stage.kind is Kind.SHUFFLE:
        return _in_random_order(call, stage)
    return _STAGES.get(call.path, _through)(call) or dataset()


def _method_of_unknown(call: Call) -> Value | None:
    """A method that only datasets have, on a value that is not known."""
    receiver = call.receiver
    if receiver.kind != "plain" or receiver.constant is not MISSING:
        return None
    certain = "num_parallel_calls" in call.keywords or call.path in ("prefetch", "padded_batch")
    likely = call.path in ("shuffle", "batch") and len(call.args) in (1, 2)
    if not (certain or likely) or not call.frame.module.mentions("tensorflow"):
        return None
    call.receiver = dataset(receiver.marks)
    return dataset_method(call)


def _distributed(call: Call) -> Value | None:
    """`strategy.experimental_distribute_dataset(ds)` hands the dataset on."""
    given = call.argument(0, "dataset")
    return call.enter_unknown(given) if given is not None and given.kind == "function" else given


_STAGES: dict[str, Handler] = {
    **dict.fromkeys(("map", "interleave", "flat_map", "filter", "scan", "reduce", "take_while"), _mapped),
    **dict.fromkeys(("map_with_legacy_function", "group_by_window"), _mapped),
    "cache": _cache,
    "with_options": _with_options,
    "apply": _apply,
    "as_numpy_iterator": lambda call: Value("list", total(call.receiver)),
}
KINDS: dict[tuple[Kind, str], Handler] = {
    (Kind.DATASET, "tensorflow"): _from_data,
    **{(Kind.SHUFFLE, package): lambda call: _in_random_order(call, call.known) for package in _PACKAGES},
    (Kind.HOST_CALL, ""): _py_function,
}
FUNCTIONS: dict[str, Handler] = {
    f"{_DATASET}.from_generator": _from_generator,
    f"{_DATASET}.range": lambda call: dataset(call.marks),
    f"{_DATASET}.zip": _combined,
    f"{_DATASET}.choose_from_datasets": _combined,
    "tensorflow.data.Options": lambda call: Value("object", path="tensorflow.data.Options"),
    "tensorflow_datasets.load": _tfds_load,
}
METHODS: dict[str, Handler] = {
    **dict.fromkeys(("map", "interleave", "shuffle", "batch"), _method_of_unknown),
    **dict.fromkeys(("padded_batch", "prefetch"), _method_of_unknown),
    **dict.fromkeys(("experimental_distribute_dataset", "distribute_datasets_from_function"), _distributed),
    "experimental_distribute_datasets_from_function": _distributed,
}
