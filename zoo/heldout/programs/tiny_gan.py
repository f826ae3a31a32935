import random

import keras
import numpy as np
import tensorflow as tf

random.seed(0)
np.random.seed(0)

LATENT = 4
real = np.random.normal(3.0, 0.5, size=(320, 2)).astype("float32")

generator = keras.Sequential([
    keras.Input((LATENT,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2),
])
critic = keras.Sequential([
    keras.Input((2,)), keras.layers.Dense(16, activation="leaky_relu"), keras.layers.Dense(1),
])
g_optimizer = keras.optimizers.Adam(1e-3)
c_optimizer = keras.optimizers.Adam(2e-3)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(images):
    latent = tf.random.normal([tf.shape(images)[0], LATENT])
    with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
        fake = generator(latent, training=True)
        real_score = critic(images, training=True)
        fake_score = critic(fake, training=True)
        g_loss = bce(tf.ones_like(fake_score), fake_score)
        c_loss = bce(tf.ones_like(real_score), real_score) + bce(tf.zeros_like(fake_score), fake_score)
    g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
    c_grads = c_tape.gradient(c_loss, critic.trainable_variables)
    g_optimizer.apply_gradients(zip(g_grads, generator.trainable_variables))
    c_optimizer.apply_gradients(zip(c_grads, critic.trainable_variables))
    return g_loss, c_loss


for epoch in range(2):
    for i in range(0, len(real), 32):
        g_loss, c_loss = train_step(tf.constant(real[i:i + 32]))
    print(f"epoch {epoch}: generator {float(g_loss):.4f} critic {float(c_loss):.4f}")

weights = np.concatenate([w.ravel() for w in generator.get_weights() + critic.get_weights()])
print("checksum", float(np.abs(weights).astype("float64").sum()).hex())
