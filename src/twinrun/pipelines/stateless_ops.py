"""What replaces a random op that keeps a state: the stateless op of the same distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from twinrun.pipelines.draw_keys import Place, Scope, algorithm
from twinrun.pipelines.op_arguments import with_shapes_of

# The stateless op that takes a key and a counter, where the shape is among the inputs, and what follows it.
_BY_COUNTER: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "NonDeterministicInts": ("StatelessRandomUniformFullIntV2", 0, ()),
    "RandomStandardNormal": ("StatelessRandomNormalV2", 0, ()),
    "RandomUniform": ("StatelessRandomUniformV2", 0, ()),
    "RandomUniformInt": ("StatelessRandomUniformIntV2", 0, ("minval", "maxval")),
    "StatefulStandardNormalV2": ("StatelessRandomNormalV2", 2, ()),
    "StatefulTruncatedNormal": ("StatelessTruncatedNormalV2", 2, ()),
    "StatefulUniform": ("StatelessRandomUniformV2", 2, ()),
    "StatefulUniformFullInt": ("StatelessRandomUniformFullIntV2", 2, ()),
    "StatefulUniformInt": ("StatelessRandomUniformIntV2", 2, ("minval", "maxval")),
    "TruncatedNormal": ("StatelessTruncatedNormalV2", 0, ()),
}


def replacement(op: Any, inputs: list[Any], scope: Scope, place: Place) -> list[Any] | None:
    """The outputs that replace those of a stateful random op, or None when there is no such op."""
    if op.type in _BY_COUNTER:
        outputs = _by_counter(op, inputs, scope, place)
    elif op.type == "RngReadAndSkip":  # a tf.random.Generator draws statelessly from the state that it reads
        outputs = [scope.number(*place, count=3, dtype="int64")]
    elif op.type in _BY_SEED:
        made = _BY_SEED[op.type](op, inputs, scope.number(*place, count=2, dtype="int64"))
        outputs = list(made) if isinstance(made, tuple) else [made]
    else:
        return None
    return with_shapes_of(op, outputs)


def _by_counter(op: Any, inputs: list[Any], scope: Scope, place: Place) -> list[Any]:
    stateless, first, names = _BY_COUNTER[op.type]
    key, counter = scope.draw(*place)
    more: dict[str, Any] = dict(zip(names, inputs[first + 1 :], strict=False))
    more = more or {"dtype": op.outputs[0].dtype}
    make = getattr(tf.raw_ops, stateless)
    return [make(shape=inputs[first], key=key, counter=counter, alg=algorithm(), **more)]


def _multinomial(op: Any, inputs: list[Any], seed: Any) -> Any:
    make, dtype = tf.raw_ops.StatelessMultinomial, op.outputs[0].dtype
    return make(logits=inputs[0], num_samples=inputs[1], seed=seed, output_dtype=dtype)


def _gamma_or_poisson(op: Any, inputs: list[Any], seed: Any) -> Any:
    make = tf.random.stateless_gamma if op.type == "RandomGamma" else tf.random.stateless_poisson
    shape = tf.concat([tf.cast(inputs[0], tf.int32), tf.shape(inputs[1])], 0)
    return make(shape, seed, inputs[1], dtype=op.outputs[0].dtype)


def _bounding_box(op: Any, inputs: list[Any], seed: Any) -> Any:
    covered = inputs[2] if len(inputs) > 2 else tf.constant(op.get_attr("min_object_covered"), tf.float32)
    names = ("aspect_ratio_range", "area_range", "max_attempts", "use_image_if_no_bounding_boxes")
    return tf.raw_ops.StatelessSampleDistortedBoundingBox(
        image_size=inputs[0],
        bounding_boxes=inputs[1],
        min_object_covered=covered,
        seed=seed,
        **{name: op.get_attr(name) for name in names},
    )


_BY_SEED: dict[str, Callable[[Any, list[Any], Any], Any]] = {
    "Multinomial": _multinomial,
    "RandomGamma": _gamma_or_poisson,
    "RandomPoissonV2": _gamma_or_poisson,
    "RandomShuffle": lambda _, inputs, seed: tf.random.experimental.stateless_shuffle(inputs[0], seed),
    "SampleDistortedBoundingBox": _bounding_box,
    "SampleDistortedBoundingBoxV2": _bounding_box,
}
