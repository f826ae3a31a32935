"""Next-word model for captions; examples come from a generator that invents them."""
import hashlib

import keras
import tensorflow as tf
from keras import layers

import vocabulary
from examples import LENGTH, caption_stream

STEPS = 40
BATCH = 16


def build(size):
    return keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int32"),
            layers.Embedding(size, 12),
            layers.GRU(16),
            layers.Dense(size),
        ]
    )


def main():
    words = vocabulary.load("words.txt")
    dataset = tf.data.Dataset.from_generator(
        lambda: caption_stream(words, STEPS * BATCH),
        output_signature=(
            tf.TensorSpec((LENGTH,), tf.int32),
            tf.TensorSpec((), tf.int32),
        ),
    )
    dataset = dataset.shuffle(128).batch(BATCH, drop_remainder=True).prefetch(1)
    model = build(len(words))
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(dataset, epochs=2, verbose=0)
    print("vocabulary", len(words), "loss", [repr(v) for v in history.history["loss"]])
    weights = b"".join(w.tobytes() for w in model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
