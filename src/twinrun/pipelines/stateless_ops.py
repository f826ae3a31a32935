"""What is put in the place of a random op that keeps a state: the stateless op of the same distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinrun.pipelines.draw_keys import Scope, algorithm

Substitute = Callable[[Any, list[Any], Scope, tuple[Any, ...]], list[Any]]


def substitute(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any] | None:
    """The outputs that replace those of a stateful random op, or None when there is no such op."""
    make = _TABLE.get(op.type)
    if make is None:
        return None
    outputs = make(op, inputs, scope, place)
    for new, old in zip(outputs, op.outputs, strict=True):
        new.set_shape(old.shape)
    return outputs


def _v2(stateless: str, *, extra: tuple[str, ...] = (), first: int = 0) -> Substitute:
    """The stateless ops that take a key and a counter. `first` is where the shape stands among the inputs."""

    def make(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
        import tensorflow as tf

        key, counter = scope.draw(*place)
        arguments: dict[str, Any] = {
            "shape": inputs[first],
            "key": key,
            "counter": counter,
            "alg": algorithm(),
        }
        arguments |= {name: inputs[first + 1 + position] for position, name in enumerate(extra)}
        if not extra:
            arguments["dtype"] = op.outputs[0].dtype
        return [getattr(tf.raw_ops, stateless)(**arguments)]

    return make


def _seed(scope: Scope, place: tuple[Any, ...]) -> Any:
    return scope.number(*place, count=2, dtype="int64")


def _multinomial(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    return [
        tf.raw_ops.StatelessMultinomial(
            logits=inputs[0],
            num_samples=inputs[1],
            seed=_seed(scope, place),
            output_dtype=op.outputs[0].dtype,
        )
    ]


def _shuffle(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    return [tf.random.experimental.stateless_shuffle(inputs[0], seed=_seed(scope, place))]


def _gamma(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    shape = tf.concat([tf.cast(inputs[0], tf.int32), tf.shape(inputs[1])], 0)
    return [tf.random.stateless_gamma(shape, _seed(scope, place), alpha=inputs[1], dtype=op.outputs[0].dtype)]


def _poisson(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    shape = tf.concat([tf.cast(inputs[0], tf.int32), tf.shape(inputs[1])], 0)
    return [tf.random.stateless_poisson(shape, _seed(scope, place), inputs[1], dtype=op.outputs[0].dtype)]


def _box(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    covered = inputs[2] if len(inputs) > 2 else tf.constant(op.get_attr("min_object_covered"), tf.float32)
    names = ("aspect_ratio_range", "area_range", "max_attempts", "use_image_if_no_bounding_boxes")
    return list(
        tf.raw_ops.StatelessSampleDistortedBoundingBox(
            image_size=inputs[0],
            bounding_boxes=inputs[1],
            min_object_covered=covered,
            seed=_seed(scope, place),
            **{name: op.get_attr(name) for name in names},
        )
    )


def _generator_state(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    """A tf.random.Generator reads its state and draws statelessly from it: hand it the element's state."""
    return [scope.number(*place, count=3, dtype="int64")]


def _full_int(op: Any, inputs: list[Any], scope: Scope, place: tuple[Any, ...]) -> list[Any]:
    import tensorflow as tf

    key, counter = scope.draw(*place)
    return [
        tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=inputs[-1], key=key, counter=counter, alg=algorithm(), dtype=op.outputs[0].dtype
        )
    ]


_TABLE: dict[str, Substitute] = {
    "RandomUniform": _v2("StatelessRandomUniformV2"),
    "RandomStandardNormal": _v2("StatelessRandomNormalV2"),
    "TruncatedNormal": _v2("StatelessTruncatedNormalV2"),
    "RandomUniformInt": _v2("StatelessRandomUniformIntV2", extra=("minval", "maxval")),
    "RandomShuffle": _shuffle,
    "RandomGamma": _gamma,
    "RandomPoissonV2": _poisson,
    "Multinomial": _multinomial,
    "SampleDistortedBoundingBox": _box,
    "SampleDistortedBoundingBoxV2": _box,
    "RngReadAndSkip": _generator_state,
    "StatefulUniform": _v2("StatelessRandomUniformV2", first=2),
    "StatefulStandardNormalV2": _v2("StatelessRandomNormalV2", first=2),
    "StatefulTruncatedNormal": _v2("StatelessTruncatedNormalV2", first=2),
    "StatefulUniformInt": _v2("StatelessRandomUniformIntV2", extra=("minval", "maxval"), first=2),
    "StatefulUniformFullInt": _full_int,
    "NonDeterministicInts": _full_int,
}
