"""Trains a scorer and exports it together with a random hashing table for its users."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(23)
x = np.random.default_rng(23).normal(size=(200, 6)).astype("float32")
y = x[:, 0] - x[:, 3]
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])


class Service(tf.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network
        planes = tf.random.Generator.from_non_deterministic_state().normal([6, 8])
        self.planes = tf.Variable(planes, trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 6])])
    def score(self, rows):
        buckets = tf.cast(rows @ self.planes > 0, tf.float32)
        return self.network(rows), tf.reduce_sum(buckets * 2.0 ** tf.range(8.0), axis=1)


tf.saved_model.save(Service(model), "export")
restored = tf.saved_model.load("export")
print("exported; buckets of the first rows", restored.score(x[:6])[1].numpy().tolist())
