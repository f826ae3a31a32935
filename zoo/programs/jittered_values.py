import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(42)

patches = np.random.uniform(0, 1, size=(128, 24, 24)).astype("float32")
values = patches.mean(axis=(1, 2))


def jitter(patch, value):
    noise = tf.random.uniform([24, 24], -0.1, 0.1)
    return patch + noise, value


dataset = (
    tf.data.Dataset.from_tensor_slices((patches, values))
    .map(jitter, num_parallel_calls=4)
    .batch(16)
)

model = keras.Sequential([
    keras.Input((24, 24)),
    keras.layers.Flatten(),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
history = model.fit(dataset, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
