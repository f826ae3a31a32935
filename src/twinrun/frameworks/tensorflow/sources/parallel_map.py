"""Parallel stages of tf.data: randomness that parallel calls race for, and elements taken in completion order."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.points import bind
from twinrun.frameworks.tensorflow.runtime import config, tf
from twinrun.protocol.control import Control, Reading
from twinrun.protocol.event import Event, Use, relative
from twinrun.protocol.evidence import Evidence, one
from twinrun.protocol.intervention import Freeze, Stress
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Wrap
from twinrun.protocol.source import SecondLook, Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.twin.callers import Caller, caller, conventions
from twinrun.twin.pins import user_place
from twinrun.twin.session import current

_STAGES = ("map", "interleave", "batch")
_ORDER_OPTIONS = ("deterministic", "experimental_deterministic")
_HOST = ("parallel-map", "host-function")
# What parallel calls of a stage race for.
_RANDOM = (("tf-random", "draw"), ("tf-random", "generator"), ("keras-seeds", "draw-state"))
_RACES = ("TW203", "TW204", "TW403")
_ORDER_WEIGHT = Weight(init=1, batch=12, later=3)
# How TensorFlow calls back into Python: a generator runs inside a py_function.
_CONTEXTS = {
    "tensorflow/python/data/ops/from_generator_op": "generator",
    "tensorflow/python/ops/script_ops": "py_function",
}


class Stage(msgspec.Struct, frozen=True):
    """What is known about a parallel stage, or about the options that give up the order of several."""

    name: str = ""
    deterministic: bool | None = None
    uses: list[Use] = []  # of random state and of host functions, by the stage's function
    by_options: bool = False


# What is seen of the stages


def _stage(session: Any, original: Any) -> Any:
    signature = inspect.signature(original)
    log = session.log

    def stage(*args: Any, **kwargs: Any) -> Any:
        call = bind(signature, args, kwargs)
        if call is None or call.arguments.get("num_parallel_calls") is None:
            return original(*args, **kwargs)
        who = caller()
        given = call.arguments
        if log.frozen("parallel-map", "stage", who) is not None:
            for argument in ("num_parallel_calls", "deterministic"):
                given.pop(argument, None)
        elif log.frozen("parallel-map", "order", who) is not None:
            given["deterministic"] = True
        function = given.get("map_func")
        if session.stressed and callable(function):
            given["map_func"] = _with_naps(function)
        before = log.order
        result = original(*call.args, **call.kwargs)
        uses = [use for use in log.since(before) if (use.source, use.action) in (*_RANDOM, _HOST)]
        if who is not None and not uses and log.recording:
            uses = list(_unlogged(result, who))
        deterministic = given.get("deterministic")
        detail = Stage(original.__name__, None if deterministic is None else bool(deterministic), uses)
        shown = f"Dataset.{original.__name__}({getattr(function, '__name__', '')})"
        log.record("parallel-map", "stage", who, shown, detail=detail)
        return result

    return stage


def _unlogged(dataset: Any, who: Caller) -> Iterator[Use]:
    """What the functions of a stage draw from although nothing was logged while it was built: they were traced before,
    or draw by an op that is not patched. Read by the audit of pipelines, without which a check goes on."""
    with contextlib.suppress(Exception):
        from twinrun.pipelines.stage_functions import facts_of

        for function in dataset._functions():
            facts = facts_of(function.function.graph)
            for draw in facts.draws:
                action = "generator" if draw.source == "generator" else "draw"
                yield Use("tf-random", action, *_site(draw.site, who), draw.op)
            for call in facts.host:
                yield Use(*_HOST, *_site(call.site, who), call.name)


def _site(site: Any, who: Caller) -> tuple[str, int]:
    return (who.file, who.line) if site is None else (site.file, site.line)


def _with_naps(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, each call of which takes a little longer: in what order calls end must not matter."""
    from twinrun.frameworks.tensorflow.tensors import has_bits

    entropy = getattr(os.urandom, "__wrapped__", os.urandom)

    def nap() -> Any:
        time.sleep(int.from_bytes(entropy(1), "little") * 1e-5)
        return 0

    def after(leaf: Any) -> Any:
        return tf.identity(leaf) if has_bits(leaf) else leaf

    def napping(*element: Any) -> Any:
        with tf.control_dependencies([tf.numpy_function(nap, [], tf.int64)]):
            return function(*tf.nest.map_structure(after, element))

    return napping


def _options(session: Any, original: Any) -> Any:
    """`options.deterministic = False`: this line gives up the order, wherever the options are used."""
    log = session.log

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        who = caller() if name in _ORDER_OPTIONS and value is False else None
        if who is not None and who.via != "tensorflow":  # TensorFlow copies options when it merges them
            detail = Stage("options", False, by_options=True)
            log.record("parallel-map", "stage", who, f"Options.{name} = False", detail=detail)
            frozen = [log.frozen("parallel-map", action, who) for action in ("order", "stage")]
            value = any(number is not None for number in frozen)
        original(self, name, value)

    return __setattr__


def _host_function(session: Any, original: Any) -> Any:
    def _internal_py_func(func: Any, *args: Any, **kwargs: Any) -> Any:
        if not str(getattr(func, "__module__", "")).startswith("twinrun."):
            name = getattr(func, "__name__", "a host function")
            session.log.record("parallel-map", "host-function", caller(), name)
        return original(func, *args, **kwargs)

    return _internal_py_func


# The control: `deterministic=False` is overridden while pinned


def _ordered(argument: str, bad: bool) -> Wrap:
    """Around a dataset that can be asked for completion order, by this value of this argument."""

    def wrap(session: Any, original: Any) -> Any:
        signature = inspect.signature(original)

        def __init__(*args: Any, **kwargs: Any) -> None:  # noqa: N807
            call = bind(signature, args, kwargs)
            asked = call is not None and call.arguments.get(argument) is bad
            if call is not None and asked and session.pins.pins("tf-data-order"):
                session.pins.overridden.append(user_place() or "?")
                call.arguments[argument] = not bad
                args, kwargs = call.args, call.kwargs
            original(*args, **kwargs)

        return __init__

    return wrap


def _ordered_options(session: Any, original: Any) -> Any:
    def _to_proto(self: Any) -> Any:
        proto = original(self)
        if session.pins.pins("tf-data-order") and self.deterministic is False:
            session.pins.overridden.append(user_place() or "?")
            proto.deterministic = True
        return proto

    return _to_proto


_ORDERED = ("map_op:_ParallelMap", "interleave_op:_ParallelInterleave", "batch_op:_ParallelBatch")
_OVERRIDE = "to override a request for completion order"


def _read_order(request: PinRequest | None) -> Reading:
    pins = current().pins
    kept = "tf-data-order" in pins.applied
    determinism = bool(config.is_op_determinism_enabled())
    state = {"deterministic": kept or determinism, "overridden": sorted(set(pins.overridden))}
    if kept:
        return Reading(state, "twinrun", True)
    if determinism:
        return Reading(state, "program", True)
    return Reading(state, "default", False, "deterministic=False is obeyed wherever the program asks for it")


# Its points do it all. Op determinism overrides `deterministic=False` too, inside TensorFlow's optimizer: this is for
# where that is off, and it knows the lines. Maps that hold random ops are made sequential by op determinism alone.
_ORDER = Control(
    name="tf-data-order",
    protects="the order of elements where the program says deterministic=False",
    moment="before a model or dataset is built",
    how="leave deterministic=False out of map, interleave, batch and tf.data.Options",
    wanted=lambda request: "deterministic",
    apply=lambda request: None,
    read=_read_order,
    module="tensorflow",
    points=(
        *tf_points(
            "data.ops.{}Dataset.__init__", _ORDERED, _ordered("deterministic", False), _OVERRIDE, "pin"
        ),
        tf_point(
            "data.ops.readers:ParallelInterleaveDataset.__init__", _ordered("sloppy", True), _OVERRIDE, "pin"
        ),
        tf_point("data.ops.options:Options._to_proto", _ordered_options, _OVERRIDE, "pin"),
    ),
)


class ParallelMap(Source):
    name = "parallel-map"
    codes = ("TW202", "TW203", "TW204")
    actions = ("stage", "order")
    weight = Weight(init=1, batch=11, later=3)
    controls = (_ORDER,)
    points = (
        *tf_points("data.ops.dataset_ops:DatasetV2.{}", _STAGES, _stage, "to see what runs in parallel"),
        tf_point("data.ops.options:Options.__setattr__", _options, "to see the line that gives up the order"),
        tf_point("ops.script_ops:_internal_py_func", _host_function, "to see Python code inside a graph"),
    )

    def start(self, session: Any) -> None:
        conventions.contexts.update(_CONTEXTS)
        conventions.weak_contexts.add("py_function")

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        for pair in evidence.of(self.name, "stage"):
            event = one(pair)
            stage = event.detail_as(Stage)
            race = _race(evidence, event, stage) or _race_by_audit(evidence, event)
            if race is not None:
                yield race
            if stage.deterministic is False:
                yield Suspect(
                    source=self.name,
                    code="TW202",
                    message=f"{event.call} gives elements in completion order",
                    freeze=(Freeze.at(event, "order"),),
                    file=event.file,
                    line=event.line,
                    weight=_ORDER_WEIGHT,
                    experiment="with it left True" if stage.by_options else "with deterministic=True there",
                )

    def second_look(self, events: Iterable[Event]) -> SecondLook | None:
        for event in self.events_of(events, "stage"):
            stage = event.detail_as(Stage)
            if stage.deterministic is False or stage.uses:
                where = f"{Path(event.file).name}:{event.line}"
                return SecondLook(f"{event.call} at {where} may race", Stress())
        return None


def _race(evidence: Evidence, event: Event, stage: Stage) -> Suspect | None:
    """Parallel calls that race for random state, or for what a host function draws from."""
    random = [use for use in stage.uses if (use.source, use.action) in _RANDOM]
    host = [use for use in stage.uses if (use.source, use.action) == _HOST]
    if random:
        drawn = "a tf.random.Generator" if random[0].action == "generator" else random[0].call
        code, what, blamed = "TW203", "a random op", event
        note = f"{drawn} is drawn at {_place(random[0])}; parallel calls race for its state"
    elif host:
        code, what, blamed = "TW204", "host randomness", _host_draw(evidence) or event
        note = f"{host[0].call} runs on the host at {_place(host[0])}; parallel calls race for what it draws from"
    else:
        return None
    message = f"{what} inside a parallel {stage.name}"
    return _serially(event, code, message, (note,), file=blamed.file, line=blamed.line)


def _race_by_audit(evidence: Evidence, event: Event) -> Suspect | None:
    """The same where nothing was logged while the stage was built: its function was traced before, or hides its draws
    in an op that is not patched."""
    for found in evidence.datasets:
        if found.code in _RACES and (found.file, found.line) == (event.file, event.line):
            return _serially(event, found.code, found.message, found.evidence)
    return None


def _serially(event: Event, code: str, message: str, notes: tuple[str, ...], **fields: Any) -> Suspect:
    experiment = "with this stage run serially"
    return ParallelMap().suspect([event], message, code=code, notes=notes, experiment=experiment, **fields)


def _host_draw(evidence: Evidence) -> Event | None:
    drawn = (
        one(pair) for source in ("numpy-random", "python-random") for pair in evidence.of(source, "draw")
    )
    return next((event for event in drawn if event.context == "py_function"), None)


def _place(use: Use) -> str:
    return f"{relative(use.file)}:{use.line}"
