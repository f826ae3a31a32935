"""The audit of what Keras trains on when it is no dataset: arrays, loaders, generators, layers."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import GeneratorType
from typing import Any

from twinrun.errors import UsageError
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.build_sites import Site, callable_site
from twinrun.pipelines.data_audit import DataAudit, audit_dataset
from twinrun.pipelines.image_iterators import audit_image_iterator
from twinrun.pipelines.judge import WORST
from twinrun.pipelines.pipeline_stages import Stage
from twinrun.pipelines.python_draws import HostDraw, host_draws, undecorated
from twinrun.pipelines.seeding import unseeded_streams
from twinrun.pipelines.stage_functions import FunctionFacts, HostCall

_STREAMS = {
    "numpy": ("TW102", "NumPy's", "np.random.seed(42) at the start"),
    "python": ("TW101", "Python's", "random.seed(42) at the start"),
}
_FOR_EACH = (
    "rng = twinrun.element_rng(index, seed=42, epoch=self.epoch) inside __getitem__, and draw from that"
)


def audit_keras_input(
    data: Any,
    *,
    shuffle: bool | None = None,
    workers: int | None = None,
    use_multiprocessing: bool | None = None,
) -> DataAudit:
    """Audit anything that `fit` takes beside a tf.data dataset, or a layer that augments."""
    if _is_a(data, "PyDataset", "Sequence", module=("keras", "tf_keras")):
        if _is_a(data, "Iterator", module=("keras", "tf_keras")):
            return audit_image_iterator(data, workers, use_multiprocessing)
        return _loader(data, shuffle, workers, use_multiprocessing)
    if isinstance(data, GeneratorType) or (callable(data) and not _is_layer(data)):
        return _generator(data)
    if _is_layer(data):
        return _layers(data)
    if _is_arrays(data):
        return _arrays(data, True if shuffle is None else shuffle)
    raise UsageError(
        f"there is nothing to audit in a {type(data).__name__}",
        hint="hand over a tf.data dataset, arrays, a PyDataset, a generator, or an augmentation layer",
    )


def _is_a(value: Any, *names: str, module: tuple[str, ...]) -> bool:
    """Whether a value's class descends from one of these, without importing its package."""
    return any(
        parent.__name__ in names and parent.__module__.partition(".")[0] in module
        for parent in type(value).__mro__
    )


def _is_layer(value: Any) -> bool:
    return _is_a(value, "Layer", module=("keras", "tf_keras"))


def _is_arrays(data: Any) -> bool:
    if isinstance(data, dict):
        return bool(data) and all(_is_arrays(value) for value in data.values())
    if isinstance(data, (tuple, list)):
        return bool(data) and all(_is_arrays(value) for value in data)
    return hasattr(data, "shape") and hasattr(data, "dtype")


# -- arrays --------------------------------------------------------------------------------------------------


def _arrays(data: Any, shuffle: bool) -> DataAudit:
    """What Keras makes of arrays is a tf.data pipeline: that is what is audited."""
    from keras.src.trainers import data_adapters

    packed = data if isinstance(data, tuple) else (data,)
    dataset = data_adapters.get_data_adapter(*packed[:3], batch_size=32, shuffle=shuffle).get_tf_dataset()
    found = audit_dataset(dataset)
    return replace(
        found, subject=f"arrays, fit(shuffle={shuffle})", findings=tuple(map(as_fit_shuffle, found.findings))
    )


def as_fit_shuffle(one: Finding) -> Finding:
    """The tf.random.shuffle that Keras writes for fit(shuffle=True) is a shuffle of the user's."""
    if one.code != "TW104" or not one.message.startswith("RandomShuffle"):
        return one
    return finding(
        "TW201",
        "fit(shuffle=True) shuffles the arrays, and TensorFlow's global seed is not set",
        file=one.file,
        line=one.line,
        evidence=one.evidence,
        fix="keras.utils.set_random_seed(42) before fit()",
    )


# -- loaders -------------------------------------------------------------------------------------------------


def _loader(
    loader: Any, shuffle: bool | None, workers: int | None, use_multiprocessing: bool | None
) -> DataAudit:
    """A PyDataset or Sequence: its __getitem__ runs in as many workers as it says."""
    site = callable_site(type(loader).__getitem__)
    workers = int(workers or getattr(loader, "_workers", 1) or 1)
    processes = bool(use_multiprocessing or getattr(loader, "_use_multiprocessing", False))
    draws = host_draws(loader.__getitem__)
    between = host_draws(loader.on_epoch_end) if hasattr(loader, "on_epoch_end") else ()
    name = type(loader).__name__
    randomness, findings = _loader_findings(f"{name}.__getitem__", site, workers, processes, draws)
    if between:  # one thread calls it, when an epoch is over
        then, more = _loader_findings(f"{name}.on_epoch_end", site, 1, False, between)
        findings += [one for one in more if one.code not in {other.code for other in findings}]
        randomness = min(randomness, then, key=WORST.index)
    notes = []
    if shuffle is not False:
        notes.append("fit(shuffle=True), the default, orders its batches by Python's random: seed that")
    if between:
        notes.append(f"on_epoch_end draws from {between[0]}: it repeats if that stream was seeded")
    if not draws:
        notes.append("no draw was found in the code of __getitem__")
    stage = Stage(
        number="1",
        kind=type(loader).__name__,
        op="PyDataset",
        known=True,
        site=site,
        attributes={"workers": workers, "use_multiprocessing": processes},
        functions=(FunctionFacts(host=(HostCall("__getitem__", site, draws, True),)),),
        parallel=workers > 1,
        order="deterministic",
        randomness=randomness,
        notes=tuple(notes),
    )
    return DataAudit((stage,), tuple(findings), subject=f"{type(loader).__name__}, {workers} workers")


def _loader_findings(
    name: str, site: Site | None, workers: int, processes: bool, draws: tuple[HostDraw, ...]
) -> tuple[str, list[Finding]]:
    """`name` is the method's, with its class."""
    kinds = {draw.kind for draw in draws}
    drawn = ", ".join(str(draw) for draw in draws if draw.kind != "element")
    site = Site(draws[0].file, draws[0].line) if draws else site  # the line to change is the one that draws
    if kinds & {"stream", "shared"} and (workers > 1 or processes):
        how, loader = f"{workers} {'processes' if processes else 'threads'}", name.partition(".")[0]
        message = (
            f"{how} of {loader} each draw from their own copy of one stream"
            if processes
            else f"{how} of {loader} take turns at one random stream in the order in which they happen to run"
        )
        return "racing", [_found("TW205", site, message, [f"{name} draws from {drawn}"], _FOR_EACH)]
    if kinds & {"unseeded", "entropy"}:
        message = f"{name} draws randomness that nobody seeded"
        return "unseeded", [_found("TW204", site, message, [f"it draws from {drawn}"], _FOR_EACH)]
    unseeded = _unseeded_in(draws)
    if unseeded is not None:
        code, whose, fix = _STREAMS[unseeded]
        message = f"{name} draws from {whose} global stream, which was not seeded"
        return "unseeded", [_found(code, site, message, [f"it draws from {drawn}"], fix)]
    if kinds & {"stream", "shared"}:
        return "unknown", []
    return ("seeded" if "element" in kinds else "none"), []


def _unseeded_in(draws: tuple[HostDraw, ...]) -> str | None:
    """A global stream that is drawn from and that certainly nobody has seeded."""
    unseeded = unseeded_streams()
    return next((draw.stream for draw in draws if draw.kind == "stream" and draw.stream in unseeded), None)


# -- generators ----------------------------------------------------------------------------------------------


def _generator(generator: Any) -> DataAudit:
    """A Python generator runs in one thread: what it draws from must be seeded, and be its own."""
    function = generator if not isinstance(generator, GeneratorType) else _function_of(generator)
    inner = undecorated(function)
    name = getattr(inner, "__name__", type(inner).__name__)
    site = callable_site(inner)
    draws = host_draws(inner)
    kinds = {draw.kind for draw in draws}
    drawn = ", ".join(str(draw) for draw in draws if draw.kind != "element")
    findings: list[Finding] = []
    randomness = "unknown" if kinds & {"stream", "shared"} else "seeded" if "element" in kinds else "none"
    if kinds & {"unseeded", "entropy"} or _unseeded_in(draws) is not None:
        randomness = "unseeded"
        message = f"the generator {name}() draws Python randomness that nobody seeded"
        line = Site(draws[0].file, draws[0].line)
        fix = "rng = np.random.default_rng(42) in it, and draw from that"
        findings = [_found("TW204", line, message, [f"it draws from {drawn}"], fix)]
    notes = () if draws else ("no draw was found in its code",)
    call = HostCall(name, site, draws, True)
    stage = Stage(
        "1", name, "generator", True, site=site, functions=(FunctionFacts(host=(call,)),), notes=notes
    )
    stage = replace(stage, order="deterministic", randomness=randomness)
    return DataAudit((stage,), tuple(findings), subject=f"generator {name}")


def _function_of(generator: GeneratorType[Any, Any, Any]) -> Any:
    """A function with a running generator's code and names, so that it can be read like any other."""
    from types import CellType, FunctionType

    frame = generator.gi_frame
    names = {} if frame is None else frame.f_globals
    free = {} if frame is None else frame.f_locals
    cells = tuple(
        CellType(free[name]) if name in free else CellType() for name in generator.gi_code.co_freevars
    )
    return FunctionType(generator.gi_code, names, generator.__name__, None, cells)


# -- layers --------------------------------------------------------------------------------------------------


def _layers(layer: Any) -> DataAudit:
    """Augmentation layers: each has a seed of its own, or takes one from a stream when it is made."""
    stages: list[Stage] = []
    findings: list[Finding] = []
    for one in _flattened(layer):
        holder = next(
            (
                getattr(one, name)
                for name in ("generator", "seed_generator", "_random_generator")
                if hasattr(one, name)
            ),
            None,
        )
        if holder is None:
            continue
        name = getattr(one, "name", type(one).__name__)
        seeded = getattr(one, "seed", None) is not None
        known = seeded or _keras_is_seeded(one)
        stage = Stage(
            str(len(stages) + 1), f"{type(one).__name__} {name}", "layer", True, order="deterministic"
        )
        stages.append(replace(stage, randomness="seeded" if known else "unseeded"))
        if not known:
            findings.append(
                _found(
                    "TW105",
                    None,
                    f"{type(one).__name__} ({name}) has no seed: Keras took one from Python's random",
                    ["layer.seed is None, and keras.utils.set_random_seed was not called"],
                    f"{type(one).__name__}(…, seed=42), or keras.utils.set_random_seed(42) before it is made",
                )
            )
    return DataAudit(tuple(stages), tuple(findings), subject=f"layers of {getattr(layer, 'name', 'a layer')}")


def _flattened(layer: Any) -> list[Any]:
    flatten = getattr(layer, "_flatten_layers", None)
    return list(flatten()) if flatten is not None else [layer]


def _keras_is_seeded(layer: Any) -> bool:
    """Whether layers without a seed of their own get one that repeats."""
    utils = sys.modules.get("keras.src.utils.rng_utils")
    if _is_a(layer, "Layer", module=("keras",)) and utils is not None:
        return utils.get_random_seed() is not None
    from tensorflow.python.eager import context  # tf_keras takes its seeds from TensorFlow's

    return context.global_seed() is not None


def _found(code: str, site: Site | None, message: str, evidence: list[str], fix: str) -> Finding:
    file, line = (None, None) if site is None else (site.file, site.line)
    return finding(code, message, file=file, line=line, evidence=evidence, fix=fix)
