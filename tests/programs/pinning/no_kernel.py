"""Trains through one op that has no deterministic implementation: the gradient of max pooling, compiled by XLA."""

import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential(
    [
        keras.Input((8, 8, 3)),
        keras.layers.Conv2D(4, 3),
        keras.layers.MaxPooling2D(name="shrink"),  # the line to blame
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.SGD()
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=True)
def step(images, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(images) - targets) ** 2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


for _ in range(3):
    step(np.ones((4, 8, 8, 3), "float32"), np.ones((4, 1), "float32"))
