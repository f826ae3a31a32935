"""The audit of what Keras trains on besides datasets and arrays: loaders, generators, augmentation layers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import CellType, FunctionType, GeneratorType
from typing import Any

from twinrun.errors import UsageError
from twinrun.findings.finding import Finding
from twinrun.pipelines import python_draws
from twinrun.pipelines.audit_report import DataAudit
from twinrun.pipelines.build_sites import Site
from twinrun.pipelines.classify_stages import worst
from twinrun.pipelines.keras_classes import is_a
from twinrun.pipelines.pipeline_rules import found_at
from twinrun.pipelines.pipeline_stages import Stage
from twinrun.pipelines.python_draws import HostDraw, callable_site, drawn_from, host_draws
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


@dataclass(frozen=True)
class _Workers:
    count: int = 1
    processes: bool = False

    def __str__(self) -> str:
        return f"{self.count} {'processes' if self.processes else 'threads'}"

    @property
    def race(self) -> bool:
        return self.count > 1 or self.processes

    def as_fields(self) -> dict[str, Any]:
        """The fields of the stage whose code they run."""
        attributes = {"workers": self.count, "use_multiprocessing": self.processes}
        return {"attributes": attributes, "parallel": self.count > 1}


_ONE = _Workers()


def audit_keras_input(
    data: Any,
    *,
    shuffle: bool | None = None,
    workers: int | None = None,
    use_multiprocessing: bool | None = None,
) -> DataAudit:
    """Audit anything with code of its own that `fit` takes, or an augmentation layer."""
    if is_a(data, "PyDataset", "Sequence"):
        count = int(workers or getattr(data, "_workers", 1) or 1)
        processes = bool(use_multiprocessing or getattr(data, "_use_multiprocessing", False))
        all_workers = _Workers(count, processes)
        return (
            _image_iterator(data, all_workers)
            if is_a(data, "Iterator")
            else _loader(data, shuffle, all_workers)
        )
    if isinstance(data, GeneratorType) or (callable(data) and not is_a(data, "Layer")):
        return _generator(data)
    if is_a(data, "Layer"):
        return _layers(data)
    raise UsageError(
        f"there is nothing to audit in a {type(data).__name__}",
        hint="pass a tf.data dataset, arrays, a PyDataset, a generator, or an augmentation layer",
    )


# -- loaders -------------------------------------------------------------------------------------------------


def _loader(loader: Any, shuffle: bool | None, workers: _Workers) -> DataAudit:
    """A PyDataset or Sequence: its __getitem__ runs in as many workers as it has."""
    name, site = type(loader).__name__, callable_site(type(loader).__getitem__)
    draws = host_draws(loader.__getitem__)
    between = host_draws(loader.on_epoch_end) if hasattr(loader, "on_epoch_end") else ()
    randomness, findings = _judged(f"{name}.__getitem__", draws, _STREAMS, workers)
    if between:  # one thread calls it, when an epoch is over
        then, others = _judged(f"{name}.on_epoch_end", between, _STREAMS)
        findings += [one for one in others if one.code not in {other.code for other in findings}]
        randomness = worst([randomness, then])
    notes = []
    if shuffle is not False:
        notes.append("fit(shuffle=True), the default, orders its batches by Python's random: seed that")
    if between:
        notes.append(f"on_epoch_end draws from {between[0]}: it repeats if that stream was seeded")
    if not draws:
        notes.append("no draw was found in the code of __getitem__")
    functions = (FunctionFacts(host=(HostCall("__getitem__", site, draws),)),)
    more = workers.as_fields() | {"site": site, "functions": functions}
    stage = _stage(name, "PyDataset", randomness, notes, **more)
    return DataAudit((stage,), tuple(findings), subject=f"{name}, {workers.count} workers")


def _judged(
    name: str,
    draws: tuple[HostDraw, ...],
    streams: Mapping[str, tuple[str, str, str]],
    workers: _Workers = _ONE,
    fix: str = _FOR_EACH,
) -> tuple[str, list[Finding]]:
    """The randomness of Python code and what to report of it. `streams`: global streams with findings of their own."""
    unseeded = python_draws.unseeded_streams()
    randomness = python_draws.randomness_of(draws, raced=workers.race, unseeded=unseeded)
    if randomness not in ("racing", "unseeded"):
        return randomness, []
    site = Site(draws[0].file, draws[0].line)  # the line to change is the one that draws
    evidence = [f"{name} draws from {drawn_from(draws)}"]
    if randomness == "racing":
        how = "share one random stream and draw from it in no fixed order"
        if workers.processes:
            how = "each draw from their own copy of one stream"
        message = f"{workers} of {name.partition('.')[0]} {how}"
        return randomness, [found_at("TW205", site, message, evidence, fix)]
    code, message = "TW204", f"{name} draws unseeded Python randomness"
    stream = python_draws.unseeded_stream(draws, unseeded)
    own = streams.get(stream or "")
    if own is not None and not {"unseeded", "entropy"} & {draw.kind for draw in draws}:
        code, whose, fix = own
        message = f"{name} draws from {whose} global stream, which was not seeded"
    return randomness, [found_at(code, site, message, evidence, fix)]


def _stage(kind: str, op: str, randomness: str, notes: list[str], **more: Any) -> Stage:
    """The one stage of an input that is Python."""
    given = {"order": "deterministic", "randomness": randomness, "notes": tuple(notes), **more}
    return Stage("1", kind, op, True, **given)


# -- what ImageDataGenerator.flow gives, in Keras and in tf_keras ----------------------------------------------


def _image_iterator(loader: Any, workers: _Workers) -> DataAudit:
    """It draws from NumPy's global stream, which it reseeds for each batch when it has a seed."""
    name, seed = type(loader).__name__, getattr(loader, "seed", None)
    shuffle = bool(getattr(loader, "shuffle", False))
    augments = _augments(getattr(loader, "image_data_generator", None))
    draws = shuffle or augments
    randomness = "none" if not draws else "seeded" if seed is not None else "unknown"
    findings: tuple[Finding, ...] = ()
    if augments and workers.race:
        randomness, seeded = "racing", "np.random.seed"
        if seed is not None:
            seeded = "its seed, which it sets again for each batch,"
        message = f"{workers} of {name} augment with NumPy's global stream in no fixed order"
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
    notes = notes if draws else []
    stage = _stage(name, "ImageIterator", randomness, notes, **workers.as_fields())
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
    fix = "rng = np.random.default_rng(42) in it, and draw from that"
    randomness, findings = _judged(f"the generator {name}()", draws, {}, fix=fix)
    notes = [] if draws else ["no draw was found in its code"]
    functions = (FunctionFacts(host=(HostCall(name, site, draws),)),)
    stage = _stage(name, "generator", randomness, notes, site=site, functions=functions)
    return DataAudit((stage,), tuple(findings), subject=f"generator {name}")


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
        stage = _stage(f"{kind} {name}", "layer", "seeded" if seeded else "unseeded", [])
        stages.append(replace(stage, number=str(len(stages) + 1)))
        if not seeded:
            message = f"{kind} ({name}) has no seed: Keras took one from Python's random"
            evidence = ["layer.seed is None, and keras.utils.set_random_seed was not called"]
            fix = f"{kind}(…, seed=42), or keras.utils.set_random_seed(42) before it is made"
            findings.append(found_at("TW105", None, message, evidence, fix))
    return DataAudit(tuple(stages), tuple(findings), subject=f"layers of {getattr(layer, 'name', 'a layer')}")


def _keras_is_seeded(layer: Any) -> bool:
    """Whether layers without a seed of their own get one that repeats."""
    utils = sys.modules.get("keras.src.utils.rng_utils")
    if is_a(layer, "Layer", packages=("keras",)) and utils is not None:
        return utils.get_random_seed() is not None
    from tensorflow.python.eager import context  # tf_keras takes its seeds from TensorFlow's

    return context.global_seed() is not None
