"""The audit of what Keras trains on besides datasets: arrays, loaders, generators, layers."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import CellType, FunctionType, GeneratorType
from typing import Any

from twinrun.errors import UsageError
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines import python_draws
from twinrun.pipelines.build_sites import Site, callable_site
from twinrun.pipelines.classify_stages import worst
from twinrun.pipelines.data_audit import DataAudit, audit_dataset
from twinrun.pipelines.pipeline_rules import found_at
from twinrun.pipelines.pipeline_stages import Stage
from twinrun.pipelines.python_draws import HostDraw, drawn_from, host_draws
from twinrun.pipelines.stage_functions import FunctionFacts, HostCall

_STREAMS = {
    "numpy": ("TW102", "NumPy's", "np.random.seed(42) at the start"),
    "python": ("TW101", "Python's", "random.seed(42) at the start"),
}
_FOR_EACH = "rng = twinrun.element_rng(index, seed=42, epoch=self.epoch) in __getitem__, and draw from that"
_IMAGE_RANGES = """
    rotation_range width_shift_range height_shift_range shear_range channel_shift_range horizontal_flip vertical_flip
    brightness_range
"""


def audit_keras_input(
    data: Any,
    *,
    shuffle: bool | None = None,
    workers: int | None = None,
    use_multiprocessing: bool | None = None,
) -> DataAudit:
    """Audit anything that `fit` takes besides a tf.data dataset, or an augmentation layer."""
    if _is_a(data, "PyDataset", "Sequence"):
        count = int(workers or getattr(data, "_workers", 1) or 1)
        processes = bool(use_multiprocessing or getattr(data, "_use_multiprocessing", False))
        if _is_a(data, "Iterator"):
            return _image_iterator(data, count, processes)
        return _loader(data, shuffle, count, processes)
    if isinstance(data, GeneratorType) or (callable(data) and not _is_a(data, "Layer")):
        return _generator(data)
    if _is_a(data, "Layer"):
        return _layers(data)
    if _is_arrays(data):
        return _arrays(data, True if shuffle is None else shuffle)
    raise UsageError(
        f"there is nothing to audit in a {type(data).__name__}",
        hint="pass a tf.data dataset, arrays, a PyDataset, a generator, or an augmentation layer",
    )


def _is_a(value: Any, *names: str, packages: tuple[str, ...] = ("keras", "tf_keras")) -> bool:
    """Whether a value's class descends from one of these of Keras', without importing its package."""
    return any(
        parent.__name__ in names and parent.__module__.partition(".")[0] in packages
        for parent in type(value).__mro__
    )


def _is_arrays(data: Any) -> bool:
    if isinstance(data, (dict, tuple, list)):
        members = data.values() if isinstance(data, dict) else data
        return bool(data) and all(_is_arrays(value) for value in members)
    return hasattr(data, "shape") and hasattr(data, "dtype")


# -- arrays --------------------------------------------------------------------------------------------------


def _arrays(data: Any, shuffle: bool) -> DataAudit:
    """Keras makes a tf.data pipeline of arrays: that is what is audited."""
    from keras.src.trainers import data_adapters

    packed = data if isinstance(data, tuple) else (data,)
    dataset = data_adapters.get_data_adapter(*packed[:3], batch_size=32, shuffle=shuffle).get_tf_dataset()
    return replace(as_fit_shuffle(audit_dataset(dataset)), subject=f"arrays, fit(shuffle={shuffle})")


def as_fit_shuffle(audit: DataAudit) -> DataAudit:
    """The tf.random.shuffle that Keras writes for fit(shuffle=True) is reported as the user's shuffle."""
    return replace(audit, findings=tuple(map(_as_fit_shuffle, audit.findings)))


def _as_fit_shuffle(one: Finding) -> Finding:
    if one.code != "TW104" or not one.message.startswith("RandomShuffle"):
        return one
    message = "fit(shuffle=True) shuffles the arrays, and TensorFlow's global seed is not set"
    fix = "keras.utils.set_random_seed(42) before fit()"
    return finding("TW201", message, file=one.file, line=one.line, evidence=one.evidence, fix=fix)


# -- loaders -------------------------------------------------------------------------------------------------


def _loader(loader: Any, shuffle: bool | None, workers: int, processes: bool) -> DataAudit:
    """A PyDataset or Sequence: its __getitem__ runs in as many workers as it has."""
    name, site = type(loader).__name__, callable_site(type(loader).__getitem__)
    draws = host_draws(loader.__getitem__)
    between = host_draws(loader.on_epoch_end) if hasattr(loader, "on_epoch_end") else ()
    randomness, findings = _loader_findings(f"{name}.__getitem__", site, workers, processes, draws)
    if between:  # one thread calls it, when an epoch is over
        then, more = _loader_findings(f"{name}.on_epoch_end", site, 1, False, between)
        findings += [one for one in more if one.code not in {other.code for other in findings}]
        randomness = worst([randomness, then])
    notes = []
    if shuffle is not False:
        notes.append("fit(shuffle=True), the default, orders its batches by Python's random: seed that")
    if between:
        notes.append(f"on_epoch_end draws from {between[0]}: it repeats if that stream was seeded")
    if not draws:
        notes.append("no draw was found in the code of __getitem__")
    calls = _calls("__getitem__", site, draws)
    stage = _stage(name, "PyDataset", randomness, notes, **calls, **_in_workers(workers, processes))
    return DataAudit((stage,), tuple(findings), subject=f"{name}, {workers} workers")


def _loader_findings(
    name: str, site: Site | None, workers: int, processes: bool, draws: tuple[HostDraw, ...]
) -> tuple[str, list[Finding]]:
    """The randomness of a method and what to report of it. `name` is the method's, with its class."""
    unseeded = python_draws.unseeded_streams()
    randomness = python_draws.randomness_of(draws, raced=workers > 1 or processes, unseeded=unseeded)
    drawn = drawn_from(draws)
    site = Site(draws[0].file, draws[0].line) if draws else site  # the line to change is the one that draws
    stream = python_draws.unseeded_stream(draws, unseeded)
    if randomness == "racing":
        message = f"{_workers(workers, processes)} of {name.partition('.')[0]} "
        if processes:
            message += "each draw from their own copy of one stream"
        else:
            message += "share one random stream and draw from it in no fixed order"
        return randomness, [found_at("TW205", site, message, [f"{name} draws from {drawn}"], _FOR_EACH)]
    if randomness != "unseeded":
        return randomness, []
    code, message, fix = "TW204", f"{name} draws randomness that nobody seeded", _FOR_EACH
    if stream is not None and not {"unseeded", "entropy"} & {draw.kind for draw in draws}:
        code, whose, fix = _STREAMS[stream]
        message = f"{name} draws from {whose} global stream, which was not seeded"
    return randomness, [found_at(code, site, message, [f"it draws from {drawn}"], fix)]


def _stage(kind: str, op: str, randomness: str, notes: list[str], **more: Any) -> Stage:
    """The one stage of an input that is Python."""
    return Stage(
        "1", kind, op, True, order="deterministic", randomness=randomness, notes=tuple(notes), **more
    )


def _calls(function: str, site: Site | None, draws: tuple[HostDraw, ...]) -> dict[str, Any]:
    return {"site": site, "functions": (FunctionFacts(host=(HostCall(function, site, draws),)),)}


def _in_workers(workers: int, processes: bool) -> dict[str, Any]:
    return {"attributes": {"workers": workers, "use_multiprocessing": processes}, "parallel": workers > 1}


def _workers(count: int, processes: bool) -> str:
    return f"{count} {'processes' if processes else 'threads'}"


# -- what ImageDataGenerator.flow gives, in Keras and in tf_keras ----------------------------------------------


def _image_iterator(loader: Any, workers: int, processes: bool) -> DataAudit:
    """It draws from NumPy's global stream, which it reseeds for each batch when it has a seed."""
    name, seed = type(loader).__name__, getattr(loader, "seed", None)
    shuffle = bool(getattr(loader, "shuffle", False))
    augments = _augments(getattr(loader, "image_data_generator", None))
    draws = shuffle or augments
    randomness = "none" if not draws else "seeded" if seed is not None else "unknown"
    findings: tuple[Finding, ...] = ()
    if augments and (workers > 1 or processes):
        randomness, seeded = "racing", "np.random.seed"
        if seed is not None:
            seeded = "its seed, which it sets again for each batch,"
        who = _workers(workers, processes)
        message = f"{who} of {name} augment with NumPy's global stream in no fixed order"
        evidence = f"{seeded} does not help: which worker draws next is a race"
        fix = "workers=1, or augment in the dataset: ds.map(augment, …) and twinrun.repeatable(ds, seed=42)"
        findings = (found_at("TW205", None, message, [evidence], fix),)
    elif draws and seed is None and not python_draws.numpy_is_seeded():
        randomness, what = "unseeded", " and ".join(["shuffles"] * shuffle + ["augments"] * augments)
        message = f"{name} {what} with NumPy's global stream, which was not seeded"
        evidence = "its seed is None, and np.random.seed was not called"
        fix = "flow(…, seed=42), and np.random.seed(42) at the start"
        findings = (found_at("TW102", None, message, [evidence], fix),)
    notes = ["draws from NumPy's global stream: several workers share it in no fixed order"]
    if seed is not None:
        notes = ["reseeds NumPy's global stream for every batch: other code that draws from it repeats too"]
    more = _in_workers(workers, processes)
    stage = _stage(name, "ImageIterator", randomness, notes if draws else [], **more)
    return DataAudit((stage,), findings, subject=name)


def _augments(generator: Any) -> bool:
    """Whether an ImageDataGenerator transforms at random."""
    ranges = any(getattr(generator, name, None) for name in _IMAGE_RANGES.split())
    return ranges or tuple(getattr(generator, "zoom_range", (1, 1))) != (1, 1)


# -- generators ----------------------------------------------------------------------------------------------


def _generator(generator: Any) -> DataAudit:
    """A Python generator runs in one thread: what it draws from must be seeded, and not shared."""
    function = generator if not isinstance(generator, GeneratorType) else _function_of(generator)
    inner = python_draws.undecorated(function)
    name, site = getattr(inner, "__name__", type(inner).__name__), callable_site(inner)
    draws = host_draws(inner)
    randomness = python_draws.randomness_of(draws, raced=False, unseeded=python_draws.unseeded_streams())
    findings: tuple[Finding, ...] = ()
    if randomness == "unseeded":
        message = f"the generator {name}() draws Python randomness that nobody seeded"
        line = Site(draws[0].file, draws[0].line)
        fix = "rng = np.random.default_rng(42) in it, and draw from that"
        findings = (found_at("TW204", line, message, [f"it draws from {drawn_from(draws)}"], fix),)
    notes = [] if draws else ["no draw was found in its code"]
    stage = _stage(name, "generator", randomness, notes, **_calls(name, site, draws))
    return DataAudit((stage,), findings, subject=f"generator {name}")


def _function_of(generator: GeneratorType[Any, Any, Any]) -> Any:
    """A function with a running generator's code and names, so that it can be read like any other."""
    frame = generator.gi_frame
    names, free = ({}, {}) if frame is None else (frame.f_globals, frame.f_locals)
    variables = generator.gi_code.co_freevars
    cells = tuple(CellType(free[name]) if name in free else CellType() for name in variables)
    return FunctionType(generator.gi_code, names, generator.__name__, None, cells)


# -- layers --------------------------------------------------------------------------------------------------


def _layers(layer: Any) -> DataAudit:
    """Augmentation layers: each has a seed of its own, or takes one from a stream when it is made."""
    stages: list[Stage] = []
    findings: list[Finding] = []
    flatten = getattr(layer, "_flatten_layers", lambda: [layer])
    for one in flatten():
        if not any(hasattr(one, name) for name in ("generator", "seed_generator", "_random_generator")):
            continue
        kind, name = type(one).__name__, getattr(one, "name", type(one).__name__)
        seeded = getattr(one, "seed", None) is not None or _keras_is_seeded(one)
        stage = Stage(str(len(stages) + 1), f"{kind} {name}", "layer", True, order="deterministic")
        stages.append(replace(stage, randomness="seeded" if seeded else "unseeded"))
        if not seeded:
            message = f"{kind} ({name}) has no seed: Keras took one from Python's random"
            evidence = ["layer.seed is None, and keras.utils.set_random_seed was not called"]
            fix = f"{kind}(…, seed=42), or keras.utils.set_random_seed(42) before it is made"
            findings.append(found_at("TW105", None, message, evidence, fix))
    return DataAudit(tuple(stages), tuple(findings), subject=f"layers of {getattr(layer, 'name', 'a layer')}")


def _keras_is_seeded(layer: Any) -> bool:
    """Whether layers without a seed of their own get one that repeats."""
    utils = sys.modules.get("keras.src.utils.rng_utils")
    if _is_a(layer, "Layer", packages=("keras",)) and utils is not None:
        return utils.get_random_seed() is not None
    from tensorflow.python.eager import context  # tf_keras takes its seeds from TensorFlow's

    return context.global_seed() is not None
