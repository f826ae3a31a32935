"""Variational autoencoder on 10x10 sprites, with a custom train_step."""
import hashlib
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

SIZE = 10
LATENT_DIM = 2


class Sampling(layers.Layer):
    """Draws z from the distribution that the encoder describes."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator()

    def call(self, inputs):
        mean, log_var = inputs
        epsilon = keras.random.normal(shape=ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * epsilon


def sprites():
    images = []
    for row in range(1, SIZE - 3):
        for col in range(1, SIZE - 3):
            for height in (2, 3):
                image = np.zeros((SIZE, SIZE, 1), "float32")
                image[row : row + height, col : col + 3] = 1.0
                images.append(image)
    return np.stack(images)


encoder_inputs = keras.Input((SIZE, SIZE, 1))
x = layers.Conv2D(8, 3, activation="relu", strides=2, padding="same")(encoder_inputs)
x = layers.Flatten()(x)
x = layers.Dense(16, activation="relu")(x)
z_mean = layers.Dense(LATENT_DIM, name="z_mean")(x)
z_log_var = layers.Dense(LATENT_DIM, name="z_log_var")(x)
z = Sampling()([z_mean, z_log_var])
encoder = keras.Model(encoder_inputs, [z_mean, z_log_var, z], name="encoder")

latent_inputs = keras.Input((LATENT_DIM,))
x = layers.Dense(5 * 5 * 8, activation="relu")(latent_inputs)
x = layers.Reshape((5, 5, 8))(x)
x = layers.Conv2DTranspose(8, 3, activation="relu", strides=2, padding="same")(x)
decoder_outputs = layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x)
decoder = keras.Model(latent_inputs, decoder_outputs, name="decoder")


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def train_step(self, data):
        corrupted = data + 0.1 * tf.random.normal(tf.shape(data))
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(corrupted)
            reconstruction = self.decoder(z)
            rec_loss = ops.mean(
                ops.sum(keras.losses.binary_crossentropy(data, reconstruction), axis=(1, 2))
            )
            kl_loss = -0.5 * (1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var))
            total = rec_loss + ops.mean(ops.sum(kl_loss, axis=1))
        grads = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.loss_tracker.update_state(total)
        return {"loss": self.loss_tracker.result()}


data = sprites()
held_out = np.random.choice(len(data), size=len(data) // 8, replace=False)
train = np.delete(data, held_out, axis=0)
began = time.time()
vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam(1e-3))
history = vae.fit(train, epochs=6, batch_size=16, verbose=0)
print(f"training took {time.time() - began:.2f} s")

mean, _, _ = encoder.predict(data[held_out], verbose=0)
rebuilt = decoder.predict(mean, verbose=0)
print("last loss", repr(float(history.history["loss"][-1])))
print("held-out error", repr(float(np.mean((rebuilt - data[held_out]) ** 2))))
weights = b"".join(w.tobytes() for w in encoder.get_weights() + decoder.get_weights())
print("final weights", hashlib.md5(weights).hexdigest())
