"""Runs the probes of a numeric fingerprint: fixed inputs through the operations that training is made of.

Run as `python -m twinrun.adapters.tensorflow.fingerprint SETTINGS`, in a process of its own; prints one line of
JSON.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import xxhash

from twinrun.environment.capture import capture
from twinrun.environment.fingerprint import Fingerprint, Probe, sample_of

Call = Callable[[], Any]


def numbers(seed: int, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Inputs in [-1, 1) that are the same on every machine: made of integers, with exact arithmetic alone."""
    size = int(np.prod(shape))
    state = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed * 7919)
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    # 24 bits, so that float32 holds each value exactly.
    return ((state >> np.uint64(40)).astype(np.float64) / 2**23 - 1.0).astype(dtype).reshape(shape)


def gradient(function: Callable[..., Any], *inputs: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        for each in inputs:
            tape.watch(each)
        loss = tf.reduce_sum(function(*inputs) ** 2)
    found: list[Any] = tape.gradient(loss, inputs)
    return found


def probes() -> Iterator[tuple[str, str, Call]]:
    """Group, name and call of every probe. The order is part of the fingerprint: add at the end of a group."""
    yield from matmuls()
    yield from convolutions()
    yield from reductions()
    yield from functions()
    yield from layers()
    yield from streams()
    yield from steps()
    yield from host()


def matmuls() -> Iterator[tuple[str, str, Call]]:
    for m, k, n in ((64, 64, 64), (32, 784, 128), (256, 256, 256), (512, 512, 512), (1, 1024, 1000), (2000, 17, 3)):
        a, b = tf.constant(numbers(1, m, k)), tf.constant(numbers(2, k, n))
        yield "matmul", f"matmul {m}x{k}x{n}", lambda a=a, b=b: tf.matmul(a, b)  # type: ignore[misc]
    a, b = tf.constant(numbers(1, 256, 256)), tf.constant(numbers(2, 256, 256))
    yield "matmul", "matmul transposed", lambda: tf.matmul(a, b, transpose_a=True, transpose_b=True)
    yield "matmul", "matmul float64", lambda: tf.matmul(tf.cast(a, tf.float64), tf.cast(b, tf.float64))
    yield "matmul", "matmul bfloat16", lambda: tf.matmul(tf.cast(a, tf.bfloat16), tf.cast(b, tf.bfloat16))
    yield "matmul", "matmul float16", lambda: tf.matmul(tf.cast(a, tf.float16), tf.cast(b, tf.float16))
    batch = tf.constant(numbers(3, 8, 64, 48))
    yield "matmul", "matmul batched", lambda: tf.matmul(batch, batch, transpose_b=True)
    yield "matmul", "einsum bhqk", lambda: tf.einsum("bqd,bkd->bqk", batch, batch)


def convolutions() -> Iterator[tuple[str, str, Call]]:
    shapes = ((8, 20, 3, 16, 3, 1), (8, 16, 16, 24, 3, 2), (4, 14, 32, 32, 1, 1), (2, 28, 8, 12, 5, 1))
    for n, size, c, f, k, stride in shapes:
        x, w = tf.constant(numbers(4, n, size, size, c)), tf.constant(numbers(5, k, k, c, f))
        convolve = lambda x, w, s=stride: tf.nn.conv2d(x, w, s, "SAME")  # noqa: E731
        called = f"{k}x{k} stride {stride}, {c} to {f}"
        yield "convolution", f"conv2d {called}", lambda x=x, w=w, go=convolve: go(x, w)  # type: ignore[misc]
        yield "convolution gradient", f"conv2d {called}, input", lambda x=x, w=w, go=convolve: gradient(go, x, w)[0]  # type: ignore[misc]
        yield "convolution gradient", f"conv2d {called}, filter", lambda x=x, w=w, go=convolve: gradient(go, x, w)[1]  # type: ignore[misc]
    x, w = tf.constant(numbers(6, 4, 16, 16, 8)), tf.constant(numbers(7, 3, 3, 8, 1))
    deep = lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")  # noqa: E731
    yield "convolution", "depthwise conv2d", lambda: deep(x, w)
    yield "convolution gradient", "depthwise conv2d, filter", lambda: gradient(deep, x, w)[1]
    sequence, kernel = tf.constant(numbers(8, 8, 50, 6)), tf.constant(numbers(9, 4, 6, 10))
    yield "convolution", "conv1d", lambda: tf.nn.conv1d(sequence, kernel, 1, "SAME")


def reductions() -> Iterator[tuple[str, str, Call]]:
    x = tf.constant(numbers(10, 300, 1000))
    long = tf.constant(numbers(11, 1_000_000))
    ids = tf.constant((np.arange(300) * 7) % 11)
    yield "reduction", "reduce_sum of a million", lambda: tf.reduce_sum(long)
    yield "reduction", "reduce_sum rows", lambda: tf.reduce_sum(x, axis=1)
    yield "reduction", "reduce_sum columns", lambda: tf.reduce_sum(x, axis=0)
    yield "reduction", "reduce_mean", lambda: tf.reduce_mean(x, axis=0)
    yield "reduction", "reduce_std", lambda: tf.math.reduce_std(x, axis=1)
    yield "reduction", "logsumexp", lambda: tf.reduce_logsumexp(x, axis=1)
    yield "reduction", "norm", lambda: tf.norm(x, axis=1)
    yield "reduction", "cumsum", lambda: tf.cumsum(x, axis=1)
    yield "reduction", "unsorted_segment_sum", lambda: tf.math.unsorted_segment_sum(x, ids, 11)


def functions() -> Iterator[tuple[str, str, Call]]:
    x = tf.constant(numbers(12, 4000)) * 4
    positive = tf.abs(x) + 0.1
    table: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "exp": (tf.exp, x),
        "log": (tf.math.log, positive),
        "log1p": (tf.math.log1p, positive),
        "tanh": (tf.tanh, x),
        "sigmoid": (tf.sigmoid, x),
        "erf": (tf.math.erf, x),
        "gelu": (tf.nn.gelu, x),
        "softplus": (tf.nn.softplus, x),
        "sin": (tf.sin, x * 20),
        "cos": (tf.cos, x * 20),
        "rsqrt": (tf.math.rsqrt, positive),
        "pow": (lambda v: tf.pow(v, 1.7), positive),
    }
    for name, (function, given) in table.items():
        yield "function", name, lambda go=function, v=given: go(v)  # type: ignore[misc]
    for name in ("exp", "log", "tanh", "sin"):
        function, given = table[name]
        yield "function", f"{name} float64", lambda go=function, v=given: go(tf.cast(v, tf.float64))  # type: ignore[misc]
    logits, labels = tf.constant(numbers(13, 128, 50)) * 5, tf.constant(np.arange(128) % 50)
    cross = lambda z: tf.nn.sparse_softmax_cross_entropy_with_logits(labels, z)  # noqa: E731
    yield "softmax", "softmax", lambda: tf.nn.softmax(logits)
    yield "softmax", "log_softmax", lambda: tf.nn.log_softmax(logits)
    yield "softmax", "softmax cross-entropy", lambda: cross(logits)
    yield "softmax", "softmax cross-entropy, gradient", lambda: gradient(cross, logits)[0]


def layers() -> Iterator[tuple[str, str, Call]]:
    image = tf.constant(numbers(14, 8, 12, 12, 16))
    scale, offset = tf.constant(numbers(15, 16)) + 2, tf.constant(numbers(16, 16))
    norm = lambda v, s, o: tf.compat.v1.nn.fused_batch_norm(v, s, o, is_training=True)[0]  # noqa: E731
    yield "layer", "batch norm", lambda: norm(image, scale, offset)
    yield "layer", "batch norm, gradient", lambda: tf.concat([tf.reshape(g, [-1]) for g in gradient(norm, image, scale, offset)], 0)  # fmt: skip
    pool = lambda v: tf.nn.avg_pool2d(v, 3, 2, "SAME")  # noqa: E731
    yield "layer", "average pool", lambda: pool(image)
    yield "layer", "average pool, gradient", lambda: gradient(pool, image)[0]
    bias = tf.constant(numbers(17, 16))
    yield "layer", "bias add, gradient", lambda: gradient(tf.nn.bias_add, image, bias)[1]
    table, ids = tf.constant(numbers(18, 50, 24)), tf.constant((np.arange(400) * 13) % 50)
    yield "layer", "embedding, gradient", lambda: tf.convert_to_tensor(gradient(lambda t: tf.nn.embedding_lookup(t, ids), table)[0])  # fmt: skip


def streams() -> Iterator[tuple[str, str, Call]]:
    yield "random stream", "stateless normal", lambda: tf.random.stateless_normal([2000], [3, 4])
    yield "random stream", "stateless uniform", lambda: tf.random.stateless_uniform([2000], [3, 4])
    yield "random stream", "generator", lambda: tf.random.Generator.from_seed(5).normal([2000])
    yield "random stream", "truncated normal", lambda: tf.random.stateless_truncated_normal([2000], [3, 4])
    yield "random stream", "shuffle", lambda: tf.random.experimental.stateless_shuffle(tf.range(500), [3, 4])
    yield "random stream", "NumPy", lambda: np.random.default_rng(6).standard_normal(2000)
    yield "random stream", "NumPy legacy", lambda: np.random.RandomState(6).standard_normal(2000)
    yield "random stream", "Python", lambda: np.array([random.Random(6).random() for _ in range(1)])


def steps() -> Iterator[tuple[str, str, Call]]:
    """Whole training steps, as graphs: fusion and scheduling belong to a machine's numerics as well."""
    yield "training step", "dense network, ten steps", lambda: _train(_dense, numbers(19, 64, 40), ((40, 64), (64, 10)))
    yield "training step", "convolutional network, ten steps", lambda: _train(_convolutional, numbers(20, 32, 16, 16, 3), ((3, 3, 3, 12), (3, 3, 12, 16), (16, 10)))  # fmt: skip
    yield "training step", "recurrent network, ten steps", lambda: _train(_recurrent, numbers(21, 32, 12, 8), ((8, 24), (24, 24), (24, 10)))  # fmt: skip
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


def _train(network: Callable[[Any, list[Any]], Any], x: np.ndarray, shapes: tuple[tuple[int, ...], ...]) -> Any:
    weights = [tf.Variable(numbers(30 + i, *shape) * np.float32(0.3)) for i, shape in enumerate(shapes)]
    moments = [(tf.Variable(tf.zeros_like(w)), tf.Variable(tf.zeros_like(w))) for w in weights]
    labels = tf.constant(np.arange(len(x)) % 10)
    inputs = tf.constant(x)

    @tf.function
    def step(t: Any) -> None:
        with tf.GradientTape() as tape:
            logits = network(inputs, weights)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        rate = 0.01 * tf.sqrt(1 - tf.pow(0.999, t)) / (1 - tf.pow(0.9, t))
        for w, (m, v), g in zip(weights, moments, tape.gradient(loss, weights), strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            w.assign_sub(rate * m / (tf.sqrt(v) + 1e-7))

    for number in range(1, 11):
        step(tf.constant(float(number)))
    return tf.concat([tf.reshape(w, [-1]) for w in weights], 0)


def host() -> Iterator[tuple[str, str, Call]]:
    """What a program does to its data with NumPy before training."""
    a, b = numbers(24, 300, 200), numbers(25, 200, 100)
    yield "NumPy", "inputs", lambda: numbers(26, 1000)
    yield "NumPy", "NumPy matmul", lambda: a @ b
    yield "NumPy", "NumPy matmul float64", lambda: a.astype(np.float64) @ b.astype(np.float64)
    yield "NumPy", "NumPy sum", lambda: a.sum(axis=0)
    yield "NumPy", "NumPy exp", lambda: np.exp(a)
    yield "NumPy", "NumPy log float64", lambda: np.log(np.abs(a.astype(np.float64)) + 1)
    yield "NumPy", "NumPy sin", lambda: np.sin(a * 10)


def run(settings: dict[str, Any]) -> Fingerprint:
    """Every probe on every device, each twice: an answer that does not repeat is said to."""
    started = time.perf_counter()
    threads = int(settings.get("threads") or 0)
    if threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    if settings.get("determinism", True):
        tf.config.experimental.enable_op_determinism()
    tf.random.set_seed(1)
    environment = capture(initialise=True)
    in_use = int(environment.get("framework", "intra_op_threads", 0) or 0)
    found = []
    for logical in tf.config.list_logical_devices():
        device = logical.name.removeprefix("/device:").lower()
        if device.split(":")[0] not in ("cpu", "gpu"):
            continue
        with tf.device(logical.name):
            for group, name, call in probes():
                found.append(_probe(group, name, call, device, in_use))
    return Fingerprint(environment, tuple(found), {**settings, "threads": in_use}, time.perf_counter() - started)


def _probe(group: str, name: str, call: Call, device: str, threads: int) -> Probe:
    try:
        first, second = np.asarray(call()), np.asarray(call())
    except Exception as problem:  # a probe that a device cannot run says so; the others stand
        reason = f"{type(problem).__name__}: {str(problem).splitlines()[0][:120]}"
        return Probe(name, group, device, threads, error=reason)
    first = np.ascontiguousarray(first)
    sample = sample_of(first)
    return Probe(
        name,
        group,
        device,
        threads,
        str(first.dtype),
        tuple(first.shape),
        xxhash.xxh3_64(first.tobytes()).hexdigest(),
        base64.b64encode(sample.tobytes()).decode(),
        first.tobytes() == np.ascontiguousarray(second).tobytes(),
    )


if __name__ == "__main__":
    print(json.dumps({"twinrun": run(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")).as_json()}))
