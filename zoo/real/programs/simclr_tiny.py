"""Contrastive pretraining with two augmented views, then a linear probe."""
import hashlib

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

SIDE = 12
WIDTH = 16
TEMPERATURE = 0.2


def load_images():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, size=256)
    images = rng.random((256, SIDE, SIDE, 1)) * 0.3
    for image, label in zip(images, labels):
        if label == 0:
            image[::3] += 0.6
        elif label == 1:
            image[:, ::3] += 0.6
        else:
            image[::4, ::4] += 0.6
    return images.astype("float32"), labels


def view(image):
    image = tf.image.random_crop(image, [SIDE - 2, SIDE - 2, 1])
    image = tf.image.random_contrast(image, 0.7, 1.3)
    return image + tf.random.normal(tf.shape(image), stddev=0.02)


def two_views(image):
    return view(image), view(image)


def get_encoder():
    return keras.Sequential(
        [
            layers.Conv2D(WIDTH, 3, strides=2, activation="relu"),
            layers.Conv2D(WIDTH, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(WIDTH, activation="relu"),
        ],
        name="encoder",
    )


class ContrastiveModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = get_encoder()
        self.projection_head = keras.Sequential(
            [layers.Dense(WIDTH, activation="relu"), layers.Dense(WIDTH)], name="projection_head"
        )
        self.tracker = keras.metrics.Mean(name="c_loss")

    def contrastive_loss(self, a, b):
        a = ops.normalize(a, axis=1)
        b = ops.normalize(b, axis=1)
        similarities = ops.matmul(a, ops.transpose(b)) / TEMPERATURE
        labels = ops.arange(ops.shape(a)[0])
        first = keras.losses.sparse_categorical_crossentropy(labels, similarities, from_logits=True)
        second = keras.losses.sparse_categorical_crossentropy(
            labels, ops.transpose(similarities), from_logits=True
        )
        return ops.mean(first + second) / 2

    def train_step(self, data):
        first, second = data
        with tf.GradientTape() as tape:
            a = self.projection_head(self.encoder(first, training=True))
            b = self.projection_head(self.encoder(second, training=True))
            loss = self.contrastive_loss(a, b)
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.tracker.update_state(loss)
        return {"c_loss": self.tracker.result()}


images, labels = load_images()
unlabeled = (
    tf.data.Dataset.from_tensor_slices(images)
    .shuffle(buffer_size=256)
    .map(two_views, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(32, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)
pretraining = ContrastiveModel()
pretraining.compile(optimizer=keras.optimizers.Adam(1e-3))
history = pretraining.fit(unlabeled, epochs=2, verbose=0)
print("contrastive loss", [repr(v) for v in history.history["c_loss"]])

cut = np.random.permutation(len(images))
train, test = cut[:96], cut[96:]
crop = images[:, 1:-1, 1:-1]
probe = keras.Sequential([keras.Input((WIDTH,)), layers.Dense(3)])
probe.compile(
    optimizer=keras.optimizers.Adam(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
features = pretraining.encoder.predict(crop, verbose=0)
probe.fit(features[train], labels[train], batch_size=16, epochs=3, verbose=0)
loss, accuracy = probe.evaluate(features[test], labels[test], verbose=0)
print("probe", repr(loss), repr(accuracy))
weights = pretraining.encoder.get_weights() + probe.get_weights()
print("final weights", hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()[:20])
