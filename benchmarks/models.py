"""The three models that recording is measured on, each with its data, in plain Keras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Workload:
    name: str
    line: str
    make: Callable[[], Any]  # a compiled model
    data: Callable[[], Any]  # an endless dataset of batches
    steps: int  # of one block: a few tenths of a second


def _endless(x: np.ndarray, y: np.ndarray, batch: int) -> Any:
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(batch, drop_remainder=True).prefetch(2)


def _mlp() -> Any:
    model = keras.Sequential(
        [keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def _mlp_data() -> Any:
    rng = np.random.default_rng(0)
    return _endless(rng.normal(size=(1024, 784)).astype("float32"), rng.integers(0, 10, 1024), 32)


def _resnet() -> Any:
    model = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy")
    return model


def _resnet_data() -> Any:
    rng = np.random.default_rng(0)
    return _endless(rng.normal(size=(64, 64, 64, 3)).astype("float32"), rng.integers(0, 10, 64), 16)


def _transformer() -> Any:
    width, length = 256, 64
    tokens = keras.Input((length,), dtype="int32")
    x = keras.layers.Embedding(1000, width)(tokens)
    for _ in range(4):
        normal = keras.layers.LayerNormalization()(x)
        x = x + keras.layers.MultiHeadAttention(4, width // 4, dropout=0.1)(normal, normal)
        hidden = keras.layers.Dense(4 * width, activation="gelu")(keras.layers.LayerNormalization()(x))
        x = x + keras.layers.Dropout(0.1)(keras.layers.Dense(width)(hidden))
    out = keras.layers.Dense(10)(keras.layers.GlobalAveragePooling1D()(x))
    model = keras.Model(tokens, out)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def _transformer_data() -> Any:
    rng = np.random.default_rng(0)
    return _endless(rng.integers(0, 1000, (256, 64)).astype("int32"), rng.integers(0, 10, 256), 16)


def _decoder(layers: int, width: int, words: int, length: int) -> Any:
    """A language model in mixed precision, for a GPU."""
    tokens = keras.Input((length,), dtype="int32")
    policy = keras.dtype_policies.DTypePolicy("mixed_bfloat16")
    x = keras.layers.Embedding(words, width, dtype=policy)(tokens)
    for _ in range(layers):
        normal = keras.layers.LayerNormalization(dtype=policy)(x)
        attention = keras.layers.MultiHeadAttention(width // 64, 64, dtype=policy)
        x = x + attention(normal, normal, use_causal_mask=True)
        normal = keras.layers.LayerNormalization(dtype=policy)(x)
        hidden = keras.layers.Dense(4 * width, activation="gelu", dtype=policy)(normal)
        x = x + keras.layers.Dense(width, dtype=policy)(hidden)
    out = keras.layers.Dense(words, dtype=policy)(x)
    model = keras.Model(tokens, out)
    # XLA would take minutes to compile it.
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


def _decoder_data(batch: int, words: int, length: int) -> Any:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, words, (4 * batch, length)).astype("int32")
    return _endless(tokens, np.roll(tokens, -1, axis=1), batch)


WORKLOADS = {
    "mlp": Workload("mlp", "MLP 784-128-10, batch 32, Adam", _mlp, _mlp_data, 200),
    "resnet50": Workload("resnet50", "ResNet50, 64×64, batch 16, Adam", _resnet, _resnet_data, 2),
    "transformer": Workload(
        "transformer",
        "transformer encoder, 4 layers, d=256, sequence 64, batch 16, Adam",
        _transformer,
        _transformer_data,
        5,
    ),
    "decoder": Workload(
        "decoder",
        "transformer of 92 million weights, bfloat16, batch 32 × 128, Adam (GPU)",
        lambda: _decoder(12, 768, 4096, 128),
        lambda: _decoder_data(32, 4096, 128),
        10,
    ),
    "billion": Workload(
        "billion",
        "transformer of 1 billion weights, bfloat16, batch 16 × 512, Adam (GPU)",
        lambda: _decoder(5, 4096, 4096, 512),
        lambda: _decoder_data(16, 4096, 512),
        3,
    ),
}
