"""A small DCGAN that learns to draw soft blobs."""
import hashlib

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LATENT = 16
SIZE = 12


def make_images(count):
    grid = np.arange(SIZE, dtype="float32")
    images = np.zeros((count, SIZE, SIZE, 1), "float32")
    for i in range(count):
        cx, cy = np.random.uniform(3, SIZE - 3, size=2)
        width = 1.5 + np.random.rand()
        blob = np.exp(-((grid[:, None] - cy) ** 2 + (grid[None, :] - cx) ** 2) / (2 * width**2))
        images[i, :, :, 0] = blob
    return images * 2.0 - 1.0


discriminator = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Conv2D(8, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(16, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(1),
    ],
    name="discriminator",
)
generator = keras.Sequential(
    [
        keras.Input((LATENT,)),
        layers.Dense(3 * 3 * 16),
        layers.Reshape((3, 3, 16)),
        layers.Conv2DTranspose(16, 4, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(8, 4, strides=2, padding="same", activation="relu"),
        layers.Conv2D(1, 5, padding="same", activation="tanh"),
    ],
    name="generator",
)

d_optimizer = keras.optimizers.Adam(2e-4, beta_1=0.5)
g_optimizer = keras.optimizers.Adam(2e-4, beta_1=0.5)
loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(real):
    batch = tf.shape(real)[0]
    noise = tf.random.normal([batch, LATENT])
    with tf.GradientTape() as tape:
        fake = generator(noise, training=True)
        scores = discriminator(tf.concat([fake, real], axis=0), training=True)
        labels = tf.concat([tf.ones([batch, 1]), tf.zeros([batch, 1])], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        d_loss = loss_fn(labels, scores)
    grads = tape.gradient(d_loss, discriminator.trainable_weights)
    d_optimizer.apply_gradients(zip(grads, discriminator.trainable_weights))

    noise = tf.random.normal([batch, LATENT])
    with tf.GradientTape() as tape:
        scores = discriminator(generator(noise, training=True), training=True)
        g_loss = loss_fn(tf.zeros([batch, 1]), scores)
    grads = tape.gradient(g_loss, generator.trainable_weights)
    g_optimizer.apply_gradients(zip(grads, generator.trainable_weights))
    return d_loss, g_loss


def main():
    images = make_images(256)
    dataset = tf.data.Dataset.from_tensor_slices(images)
    dataset = dataset.shuffle(buffer_size=256).batch(32, drop_remainder=True).prefetch(2)
    for epoch in range(3):
        for real in dataset:
            d_loss, g_loss = train_step(real)
        print(f"epoch {epoch + 1}: d_loss {float(d_loss):.6f} g_loss {float(g_loss):.6f}")
    digest = hashlib.sha256()
    for weight in generator.get_weights() + discriminator.get_weights():
        digest.update(weight.tobytes())
    print("final weights", digest.hexdigest()[:20])


if __name__ == "__main__":
    main()
