"""tf.data: unseeded shuffles (TW201), order given up (TW202), random state raced by parallel calls (TW203,
TW204), and a cache that freezes random augmentation (TW107). A dataset counts as reaching training.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from twinrun.audit import calls, expressions
from twinrun.audit.call import Arguments, Call, Handler
from twinrun.audit.containers import element_of
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks, Origin
from twinrun.audit.names import last
from twinrun.audit.values import MISSING, Thing, total
from twinrun.audit.world import NUMPY, PYTHON, TENSORFLOW, Collector, Draw, Frame, World


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


def _stages(thing: Thing | None) -> Stages:
    for each in thing.each() if thing is not None else ():
        if isinstance(each.ref, Stages):
            return each.ref
    return Stages()


def _from_data(call: Call) -> Thing:
    """A dataset made of data in memory: the data reaches training."""
    marks = call.spread
    for value in call.args:
        marks |= total(calls.iterated(call, value)) | total(value)
    call.world.reach_dataset(marks, call.frame, call.node)
    return dataset(frozenset((o, ORDER if mode != VALUE else mode) for o, mode in marks))


# -- shuffles -----------------------------------------------------------------------------------------


def _shuffle_marks(call: Call, seed_position: int | None, stream: str, seed_name: str = "seed") -> Marks:
    """The marks of a shuffle: none when it has a seed or the stream behind it has."""
    if call.given(seed_position, seed_name):
        seed = call.argument(seed_position, seed_name)
        marks = frozenset((o, ORDER) for o, _ in total(seed)) if seed is not None else NONE
    else:
        marks = call.world.draw(stream, "TW201", call.frame, call.node, kind="seed", mode=ORDER)
    call.world.reach_dataset(marks, call.frame, call.node)
    return marks


def _shuffle(call: Call) -> Thing:
    receiver = call.receiver or dataset()
    return dataset(total(receiver) | _shuffle_marks(call, 1, TENSORFLOW), _stages(receiver))


def _list_files(call: Call) -> Thing:
    shuffle = call.argument(1, "shuffle")
    marks = call.marks
    if shuffle is None or shuffle.constant is None or shuffle.constant is True:
        marks |= _shuffle_marks(call, 2, TENSORFLOW)
    call.world.reach_dataset(call.marks, call.frame, call.node)
    return dataset(marks)


def _mixed(seed_position: int) -> Handler:
    """Stages that choose at random: sampling from datasets, resampling, a dataset of random numbers."""

    def handler(call: Call) -> Thing:
        marks = call.marks | _shuffle_marks(call, seed_position, TENSORFLOW)
        return dataset(marks | total(call.receiver) if call.receiver else marks, _stages(call.receiver))

    return handler


def _from_directory(call: Call) -> Thing:
    """`keras.utils.image_dataset_from_directory` and kin: a missing seed comes from NumPy's stream."""
    shuffle = call.argument(None, "shuffle")
    by_default = last(call.path) != "timeseries_dataset_from_array"
    shuffled = by_default if shuffle is None else shuffle.constant is True
    marks = call.marks | (_shuffle_marks(call, None, NUMPY) if shuffled and not call.open else NONE)
    subset = call.argument(None, "subset")
    if subset is not None and subset.constant == "both":
        return Thing("tuple", items=[dataset(marks), dataset(marks)])
    return dataset(marks)


def _split_dataset(call: Call) -> Thing:
    shuffle = call.argument(None, "shuffle")
    marks = call.marks
    if shuffle is not None and shuffle.constant is True:
        marks |= _shuffle_marks(call, None, PYTHON)
    return Thing("tuple", items=[dataset(marks), dataset(marks)])


def _csv(call: Call) -> Thing:
    shuffle = call.argument(None, "shuffle")
    marks = call.marks
    if shuffle is None or shuffle.constant is True:
        marks |= _shuffle_marks(call, None, TENSORFLOW, "shuffle_seed")
    return dataset(marks)


def _tfds_load(call: Call) -> Thing:
    """`tfds.load(shuffle_files=True)` turns `deterministic` off unless a ReadConfig gives a seed."""
    shuffle = call.argument(None, "shuffle_files")
    made = dataset(call.marks, Stages(parallel=True))
    if shuffle is not None and shuffle.constant is True and not call.given(None, "read_config"):
        made.marks |= _unordered(call)
    split = call.argument(1, "split")
    whole = made
    if split is not None and split.items:
        whole = Thing("list", items=[made.copied() for _ in split.items])
    with_info = call.argument(None, "with_info")
    if with_info is not None and with_info.constant is True:
        return Thing("tuple", items=[whole, Thing("object", path="tensorflow_datasets.info")])
    return whole


# -- order --------------------------------------------------------------------------------------------


def _unordered(call: Call) -> Marks:
    marks = frozenset({(call.world.origin("TW202", call.frame, call.node), ORDER)})
    call.world.reach_dataset(marks, call.frame, call.node)
    return marks


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
    stages = _stages(receiver)
    given = call.argument(0, "options")
    found = given.attribute("(unordered)") if given is not None else None
    if found is not None:
        stages = replace(stages, unordered=(*stages.unordered, found.ref))
    return _acted(call, dataset(total(receiver), stages))


def _acted(call: Call, made: Thing) -> Thing:
    """Options that give up the order act once there is a parallel stage, before or after them."""
    stages = _stages(made)
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
    stages = _stages(receiver)
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
            marks |= _unordered(call)
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
    stages = _stages(receiver)
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
    return dataset(total(receiver) | call.marks, _stages(receiver))


def _through(call: Call) -> Thing:
    """Stages that change neither order nor content: batch, repeat, take, prefetch, zip…"""
    receiver = call.receiver or dataset()
    stages = _stages(receiver)
    for value in call.everything:
        other = _stages(value)
        stages = replace(
            stages,
            parallel=stages.parallel or other.parallel or _is_parallel(call),
            unordered=(*stages.unordered, *other.unordered),
            random=(*stages.random, *other.random),
        )
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
    "shuffle": _shuffle,
    "map": _mapped,
    "interleave": _mapped,
    "flat_map": _mapped,
    "filter": _mapped,
    "scan": _mapped,
    "map_with_legacy_function": _mapped,
    "group_by_window": _mapped,
    "take_while": _mapped,
    "rejection_resample": _mixed(3),
    "cache": _cache,
    "with_options": _with_options,
    "apply": _apply,
    "as_numpy_iterator": _values,
    "reduce": _mapped,
}

_DATASET = "tensorflow.data.Dataset."
FUNCTIONS: dict[str, Handler] = {
    f"{_DATASET}from_tensor_slices": _from_data,
    f"{_DATASET}from_tensors": _from_data,
    f"{_DATASET}range": lambda call: dataset(call.marks),
    f"{_DATASET}list_files": _list_files,
    f"{_DATASET}zip": _through,
    f"{_DATASET}choose_from_datasets": _through,
    f"{_DATASET}sample_from_datasets": _mixed(2),
    f"{_DATASET}random": _mixed(0),
    f"{_DATASET}load": _from_data,
    "tensorflow.data.TFRecordDataset": _from_data,
    "tensorflow.data.TextLineDataset": _from_data,
    "tensorflow.data.FixedLengthRecordDataset": _from_data,
    "tensorflow.data.experimental.CsvDataset": _from_data,
    "tensorflow.data.experimental.make_csv_dataset": _csv,
    "tensorflow.data.Options": lambda call: Thing("object", path="tensorflow.data.Options"),
    "keras.utils.image_dataset_from_directory": _from_directory,
    "keras.utils.text_dataset_from_directory": _from_directory,
    "keras.utils.audio_dataset_from_directory": _from_directory,
    "keras.utils.timeseries_dataset_from_array": _from_directory,
    "keras.utils.split_dataset": _split_dataset,
    "tensorflow_datasets.load": _tfds_load,
}

METHODS: dict[str, Handler] = {
    **dict.fromkeys(("map", "interleave", "shuffle", "batch", "padded_batch", "prefetch"), method_of_unknown),
    "experimental_distribute_dataset": _distributed,
    "distribute_datasets_from_function": _distributed,
    "experimental_distribute_datasets_from_function": _distributed,
}
