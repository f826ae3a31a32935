import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(42)


class Equalise(keras.layers.Layer):
    """Rescales grey levels by how much light falls into each of them."""

    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def call(self, images):
        flat = tf.reshape(images, [-1])
        bins = tf.cast(flat * (self.bins - 1), tf.int32)
        mass = tf.square(flat) + 0.1
        counts = tf.math.bincount(bins, weights=mass, minlength=self.bins, maxlength=self.bins)
        share = counts / tf.reduce_sum(counts)
        return images * tf.gather(1.0 + share, tf.reshape(bins, tf.shape(images)))


images = np.random.uniform(0, 1, size=(16, 560, 560)).astype("float32")
labels = (images[:, ::16, ::16].mean(axis=(1, 2)) > 0.5).astype("float32")

model = keras.Sequential([
    keras.Input((560, 560)),
    Equalise(32),
    keras.layers.Reshape((560, 560, 1)),
    keras.layers.AveragePooling2D(80),
    keras.layers.Flatten(),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(images, labels, batch_size=8, epochs=7, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
