import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(5)


def sample(index):
    """Item number i is always the same, whoever makes it and whenever."""
    rng = np.random.default_rng([5, int(index)])
    path = np.cumsum(rng.standard_normal(2000)) + rng.uniform(-5, 5)
    return path[::50].astype("float32"), np.float32(path[-1] > path[0])


def load(index):
    x, y = tf.numpy_function(sample, [index], (tf.float32, tf.float32))
    return tf.ensure_shape(x, [40]), tf.ensure_shape(y, [])


dataset = tf.data.Dataset.range(160).map(load, num_parallel_calls=4).batch(16)
inputs = keras.Input((40,))
x = keras.layers.LayerNormalization()(inputs)
x = keras.layers.Dense(12, activation="relu")(x)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
model.compile(optimizer="adam", loss="binary_crossentropy", steps_per_execution=5)
history = model.fit(dataset, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
