"""The operations that a numeric fingerprint is made of: what training programs compute, on fixed inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

Call = Callable[[], Any]
Named = Iterator[tuple[str, str, Call]]


def probes() -> Named:
    """Group, name and call of every probe. Machines are compared by name: a changed probe gets a new name."""
    for group in (matmuls, convolutions, reductions, functions, layers, streams, steps, host):
        yield from group()


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Inputs in [-1, 1) that are the same on every machine: made of integers, with exact arithmetic alone."""
    size = int(np.prod(shape))
    state = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed * 7919)
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    # 24 bits, so that float32 holds each value exactly.
    return ((state >> np.uint64(40)).astype(np.float64) / 2**23 - 1.0).astype(np.float32).reshape(shape)


def gradients(function: Callable[..., Any], *inputs: Any) -> Any:
    """The gradients of the sum of squares, one after the other in one vector."""
    with tf.GradientTape() as tape:
        for each in inputs:
            tape.watch(each)
        loss = tf.reduce_sum(function(*inputs) ** 2)
    found = [tf.convert_to_tensor(each) for each in tape.gradient(loss, inputs)]
    return tf.concat([tf.reshape(each, [-1]) for each in found], 0)


def matmuls() -> Named:
    shapes = ((64, 64, 64), (32, 784, 128), (256, 256, 256), (512, 512, 512), (1, 1024, 1000), (2000, 17, 3))
    for m, k, n in shapes:
        a, b = tf.constant(numbers(1, m, k)), tf.constant(numbers(2, k, n))
        yield "matmul", f"matmul {m}x{k}x{n}", partial(tf.matmul, a, b)
    a, b = tf.constant(numbers(1, 256, 256)), tf.constant(numbers(2, 256, 256))
    yield "matmul", "matmul transposed", partial(tf.matmul, a, b, transpose_a=True, transpose_b=True)
    for dtype in (tf.float64, tf.bfloat16, tf.float16):
        yield "matmul", f"matmul {dtype.name}", partial(tf.matmul, tf.cast(a, dtype), tf.cast(b, dtype))
    batch = tf.constant(numbers(3, 8, 64, 48))
    yield "matmul", "matmul batched", partial(tf.matmul, batch, batch, transpose_b=True)
    yield "matmul", "einsum", partial(tf.einsum, "bqd,bkd->bqk", batch, batch)


def convolutions() -> Named:
    shapes = ((8, 20, 3, 16, 3, 1), (8, 16, 16, 24, 3, 2), (4, 14, 32, 32, 1, 1), (2, 28, 8, 12, 5, 1))
    for n, size, c, f, k, stride in shapes:
        x, w = tf.constant(numbers(4, n, size, size, c)), tf.constant(numbers(5, k, k, c, f))
        convolve = partial(tf.nn.conv2d, strides=stride, padding="SAME")
        called = f"conv2d {k}x{k} stride {stride}, {c} to {f}"
        yield "convolution", called, partial(convolve, x, w)
        yield "convolution gradient", f"{called}, input", partial(gradients, partial(convolve, filters=w), x)
        yield "convolution gradient", f"{called}, filter", partial(gradients, partial(convolve, x), w)
    x, w = tf.constant(numbers(6, 4, 16, 16, 8)), tf.constant(numbers(7, 3, 3, 8, 1))
    depthwise = partial(tf.nn.depthwise_conv2d, x, strides=[1, 1, 1, 1], padding="SAME")
    yield "convolution", "depthwise conv2d", partial(depthwise, w)
    yield "convolution gradient", "depthwise conv2d, filter", partial(gradients, depthwise, w)
    sequence, kernel = tf.constant(numbers(8, 8, 50, 6)), tf.constant(numbers(9, 4, 6, 10))
    yield "convolution", "conv1d", partial(tf.nn.conv1d, sequence, kernel, 1, "SAME")


def reductions() -> Named:
    x, long = tf.constant(numbers(10, 300, 1000)), tf.constant(numbers(11, 1_000_000))
    ids = tf.constant((np.arange(300) * 7) % 11)
    yield "reduction", "reduce_sum of a million", partial(tf.reduce_sum, long)
    yield "reduction", "reduce_sum rows", partial(tf.reduce_sum, x, axis=1)
    yield "reduction", "reduce_sum columns", partial(tf.reduce_sum, x, axis=0)
    yield "reduction", "reduce_mean", partial(tf.reduce_mean, x, axis=0)
    yield "reduction", "reduce_std", partial(tf.math.reduce_std, x, axis=1)
    yield "reduction", "logsumexp", partial(tf.reduce_logsumexp, x, axis=1)
    yield "reduction", "norm", partial(tf.norm, x, axis=1)
    yield "reduction", "cumsum", partial(tf.cumsum, x, axis=1)
    yield "reduction", "unsorted_segment_sum", partial(tf.math.unsorted_segment_sum, x, ids, 11)


def functions() -> Named:
    x = tf.constant(numbers(12, 4000)) * 4
    positive = tf.abs(x) + 0.1
    names = ("exp", "tanh", "sigmoid", "erf", "gelu", "softplus", "sin", "cos")
    pairs = [(name, x) for name in names] + [(name, positive) for name in ("log", "log1p", "rsqrt", "pow")]
    for name, given in pairs:
        function = getattr(tf.nn if name == "gelu" else tf.math, name)
        if name == "pow":
            function = partial(function, y=1.7)
        yield "function", name, partial(function, given)
        if name in ("exp", "log", "tanh", "sin"):
            yield "function", f"{name} float64", partial(function, tf.cast(given, tf.float64))
    logits, labels = tf.constant(numbers(13, 128, 50)) * 5, tf.constant(np.arange(128) % 50)
    cross = partial(tf.nn.sparse_softmax_cross_entropy_with_logits, labels)
    yield "softmax", "softmax", partial(tf.nn.softmax, logits)
    yield "softmax", "log_softmax", partial(tf.nn.log_softmax, logits)
    yield "softmax", "softmax cross-entropy", partial(cross, logits)
    yield "softmax", "softmax cross-entropy, gradient", partial(gradients, cross, logits)


def layers() -> Named:
    image = tf.constant(numbers(14, 8, 12, 12, 16))
    scale, offset = tf.constant(numbers(15, 16)) + 2, tf.constant(numbers(16, 16))
    yield "layer", "batch norm", partial(_normalise, image, scale, offset)
    yield "layer", "batch norm, gradient", partial(gradients, _normalise, image, scale, offset)
    pool = partial(tf.nn.avg_pool2d, ksize=3, strides=2, padding="SAME")
    yield "layer", "average pool", partial(pool, image)
    yield "layer", "average pool, gradient", partial(gradients, pool, image)
    bias = tf.constant(numbers(17, 16))
    yield "layer", "bias add, gradient", partial(gradients, partial(tf.nn.bias_add, image), bias)
    table, ids = tf.constant(numbers(18, 50, 24)), tf.constant((np.arange(400) * 13) % 50)
    yield "layer", "embedding, gradient", partial(gradients, partial(tf.nn.embedding_lookup, ids=ids), table)


def _normalise(value: Any, scale: Any, offset: Any) -> Any:
    return tf.compat.v1.nn.fused_batch_norm(value, scale, offset, is_training=True)[0]


def streams() -> Named:
    """Streams of random numbers: from one seed they should be the same everywhere."""
    for name in ("normal", "uniform", "truncated_normal"):
        draw = getattr(tf.random, f"stateless_{name}")
        yield "random stream", f"stateless {name}", partial(draw, [2000], [3, 4])
    yield "random stream", "generator", lambda: tf.random.Generator.from_seed(5).normal([2000])
    shuffle = tf.random.experimental.stateless_shuffle
    yield "random stream", "shuffle", partial(shuffle, tf.range(500), [3, 4])
    yield "random stream", "NumPy", lambda: np.random.default_rng(6).standard_normal(2000)
    yield "random stream", "NumPy legacy", lambda: np.random.RandomState(6).standard_normal(2000)
    yield "random stream", "Python", lambda: _python_stream(random.Random(6))


def _python_stream(generator: random.Random) -> np.ndarray:
    return np.array([generator.random() for _ in range(500)])


def steps() -> Named:
    """Whole training steps, as graphs: fusion and scheduling are part of a machine's numerics too."""
    dense = ((40, 64), (64, 10))
    convolutional = ((3, 3, 3, 12), (3, 3, 12, 16), (16, 10))
    recurrent = ((8, 24), (24, 24), (24, 10))
    yield "training step", "dense network", partial(_train, _dense, numbers(19, 64, 40), dense)
    image, sequence = numbers(20, 32, 16, 16, 3), numbers(21, 32, 12, 8)
    yield "training step", "convolutional network", partial(_train, _convolutional, image, convolutional)
    yield "training step", "recurrent network", partial(_train, _recurrent, sequence, recurrent)
    a, b = tf.constant(numbers(22, 96, 96)), tf.constant(numbers(23, 96, 96))
    compiled = tf.function(lambda: tf.nn.softmax(tf.tanh(a @ b) @ b), jit_compile=True)
    yield "compiled", "XLA matmul, tanh, softmax", compiled


def _dense(x: Any, w: list[Any]) -> Any:
    return tf.nn.relu(x @ w[0]) @ w[1]


def _convolutional(x: Any, w: list[Any]) -> Any:
    x = tf.nn.relu(tf.nn.conv2d(x, w[0], 1, "SAME"))
    x = tf.nn.relu(tf.nn.conv2d(tf.nn.max_pool2d(x, 2, 2, "SAME"), w[1], 2, "SAME"))
    return tf.reduce_mean(x, axis=[1, 2]) @ w[2]


def _recurrent(x: Any, w: list[Any]) -> Any:
    state = tf.zeros([x.shape[0], w[1].shape[0]])
    for step in tf.unstack(x, axis=1):
        state = tf.tanh(step @ w[0] + state @ w[1])
    return state @ w[2]


def _train(network: Callable[..., Any], x: np.ndarray, shapes: tuple[tuple[int, ...], ...]) -> Any:
    """Ten steps of Adam; the weights at their end."""
    weights = [tf.Variable(numbers(30 + i, *shape) * np.float32(0.3)) for i, shape in enumerate(shapes)]
    moments = [(tf.Variable(tf.zeros_like(w)), tf.Variable(tf.zeros_like(w))) for w in weights]
    inputs, labels = tf.constant(x), tf.constant(np.arange(len(x)) % 10)

    def step(t: Any) -> None:
        with tf.GradientTape() as tape:
            logits = network(inputs, weights)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        rate = 0.01 * tf.sqrt(1 - tf.pow(0.999, t)) / (1 - tf.pow(0.9, t))
        for w, (m, v), g in zip(weights, moments, tape.gradient(loss, weights), strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            w.assign_sub(rate * m / (tf.sqrt(v) + 1e-7))

    graph = tf.function(step)
    for number in range(1, 11):
        graph(tf.constant(float(number)))
    return tf.concat([tf.reshape(w, [-1]) for w in weights], 0)


def host() -> Named:
    """What a program does to its data with NumPy before training."""
    a, b = numbers(24, 300, 200), numbers(25, 200, 100)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    yield "NumPy", "inputs", partial(numbers, 26, 1000)
    yield "NumPy", "NumPy matmul", partial(np.matmul, a, b)
    yield "NumPy", "NumPy matmul float64", partial(np.matmul, wide_a, wide_b)
    yield "NumPy", "NumPy sum", partial(np.sum, a, axis=0)
    yield "NumPy", "NumPy exp", partial(np.exp, a)
    yield "NumPy", "NumPy log float64", partial(np.log, np.abs(wide_a) + 1)
    yield "NumPy", "NumPy sin", partial(np.sin, a * 10)
