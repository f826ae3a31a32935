"""TensorFlow's generators: those made from fresh entropy, draws from them, and the global one, which can be pinned.

Part of the source `tf-random`; a generator that the program makes itself is an event of the source `generators`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.frameworks.packages import tf_point
from twinrun.frameworks.tensorflow.points import op_seed
from twinrun.frameworks.tensorflow.runtime import config, context, ops, stateful_random_ops, tf
from twinrun.protocol.control import Control, Reading, Undo
from twinrun.protocol.evidence import Evidence, differs, one
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.twin.callers import caller, user_site
from twinrun.twin.session import current

_CONTROL = "tensorflow-generator"
_WEIGHT = Weight(init=8, batch=9, later=7)


class GeneratorDraw(msgspec.Struct, frozen=True):
    """The generator that a draw was made from."""

    is_global: bool = False


def _draw(session: Any, original: Any) -> Any:
    def _prepare_key_counter(self: Any, shape: Any) -> Any:
        detail = GeneratorDraw(True) if self is stateful_random_ops.global_generator else None
        session.log.record("tf-random", "generator", caller(), "tf.random.Generator", detail=detail)
        return original(self, shape)

    return _prepare_key_counter


def _fresh(session: Any, original: classmethod[Any, Any, Any]) -> Any:
    """Under op determinism `from_non_deterministic_state` raises and the program stops. Fresh entropy is the program's
    own choice: while Twinrun pins, the program gets it, and it is named."""
    make = original.__func__

    def from_non_deterministic_state(cls: Any, alg: Any = None) -> Any:
        who = caller()
        # The global generator is made by the first who asks for it, inside TensorFlow.
        is_global = who is not None and who.via == "tensorflow"
        event = ("tf-random", "global-generator") if is_global else ("generators", "make")
        number = session.log.frozen(*event, who)
        if number is not None:
            made = cls.from_seed(number, alg=alg)
        elif session.pins.pins("op-determinism") and config.is_op_determinism_enabled():
            session.pins.notice(_fresh_entropy())
            config.disable_op_determinism()
            try:
                made = make(cls, alg)
            finally:
                config.enable_op_determinism()
        else:
            made = make(cls, alg)
        call = "get_global_generator" if is_global else "Generator.from_non_deterministic_state"
        if session.log.recording:
            session.log.record(*event, who, f"tf.random.{call}", _state_of(made))
        return made

    return classmethod(from_non_deterministic_state)


def _state_of(generator: Any) -> bytes:
    """The state in bytes; in a graph of TensorFlow 1, where it has no value yet, bytes that differ in every run."""
    with ops.init_scope():
        if context.executing_eagerly():
            return bytes(generator.state.numpy().tobytes())
    return getattr(os.urandom, "__wrapped__", os.urandom)(8)


def _fresh_entropy() -> Finding:
    file, line = user_site(2) or (None, None)
    message = "a tf.random.Generator is made from fresh entropy, which pinning cannot replace"
    evidence = ("tf.random.Generator.from_non_deterministic_state() was called",)
    return finding(
        "TW103", message, file=file, line=line, evidence=evidence, fix="tf.random.Generator.from_seed(42)"
    )


# The global generator, pinned


def _get_global(session: Any, original: Any) -> Any:
    """TensorFlow makes its global generator from fresh entropy when it is first asked for. The pinned one is made at the
    same moment, not before: making it starts the runtime, and the program may not have chosen its devices yet."""

    def get_global_generator() -> Any:
        if stateful_random_ops.global_generator is None and session.pins.pins(_CONTROL):
            _make_global(session.pins.request)
        return original()

    return get_global_generator


def _set_global(session: Any, original: Any) -> Any:
    def set_global_generator(generator: Any) -> None:
        original(generator)
        session.pins.seeded(_CONTROL, None, restored=True)

    return set_global_generator


def _seed(request: PinRequest) -> int:
    return op_seed(request.seed_of(_CONTROL), "tensorflow global generator")


def _make_global(request: PinRequest) -> None:
    with ops.init_scope(), current().pins.acting():
        made = tf.random.Generator.from_key_counter(key=_seed(request), counter=[0, 0], alg="philox")
        stateful_random_ops.set_global_generator(made)


def _apply(request: PinRequest) -> Undo:
    before = stateful_random_ops.global_generator
    if before is not None:
        _make_global(request)

    def undo() -> None:
        stateful_random_ops.set_global_generator(before)
        current().pins.seedings.pop(_CONTROL, None)

    return undo


def _read(request: PinRequest | None) -> Reading:
    generator, pins = stateful_random_ops.global_generator, current().pins
    pinned, seeding = pins.applied.get(_CONTROL), pins.seedings.get(_CONTROL)
    if generator is None and pinned:
        return Reading("not used yet; seeded when it is", "twinrun", True)
    if generator is None:
        return Reading("not used", "default", True)
    # The last word of the state is its key: draws move the counter before it, only reseeding changes the key.
    *counter, key = (int(word) for word in generator.state.numpy())
    state = {"key": key, "counter": counter}
    if seeding is not None and seeding.by == "program":
        return Reading(state, "program", True, None, seeding.place)
    if pinned and key == pinned["seed"]:
        return Reading(state, "twinrun", True)
    if pinned:
        why = "the generator was replaced or reset without a call to set it"
        return Reading(state, "program", False, why)
    return Reading(state, "default", False, "it was seeded from fresh entropy when it was first used")


_PLACE = "ops.stateful_random_ops"
GLOBAL_GENERATOR = Control(
    name=_CONTROL,
    protects="draws from tf.random.get_global_generator()",
    moment="before a model or dataset is built",
    how="tf.random.set_global_generator(tf.random.Generator.from_seed(42))",
    wanted=lambda request: {"seed": _seed(request)},
    apply=_apply,
    read=_read,
    module="tensorflow",
    streams={_CONTROL: "what is drawn from tf.random.get_global_generator()"},
    points=(
        tf_point(
            f"{_PLACE}:get_global_generator", _get_global, "to make it from a seed", "pin", everywhere=True
        ),
        tf_point(
            f"{_PLACE}:set_global_generator", _set_global, "to see it being set", "pin", everywhere=True
        ),
    ),
)
POINTS = (
    tf_point(f"{_PLACE}:Generator._prepare_key_counter", _draw, "every draw of a tf.random.Generator"),
    tf_point(
        f"{_PLACE}:Generator.from_non_deterministic_state", _fresh, "to see fresh entropy", "cause", "pin"
    ),
)


def suspects(evidence: Evidence) -> Iterator[Suspect]:
    made = [one(pair) for pair in evidence.of("tf-random", "global-generator") if differs(pair)]
    if not made:
        return
    # It is made by the first who asks for it: to blame is the line that draws.
    drawn = [
        event
        for pair in evidence.of("tf-random", "generator")
        if (event := one(pair)).detail_as(GeneratorDraw).is_global
    ]
    blamed = drawn[0] if drawn else made[0]
    notes = [f"it is made at {made[0].place}, from the system's entropy"]
    notes += [f"it is drawn from at {event.place}" for event in drawn[:3]]
    yield Suspect(
        source="tf-random",
        code="TW103",
        message="TensorFlow's global generator is drawn from, and was never given a seed",
        freeze=tuple(Freeze.at(event) for event in made),
        file=blamed.file,
        line=blamed.line,
        weight=_WEIGHT,
        notes=tuple(notes),
        experiment="with the global generator made from a fixed seed",
    )
