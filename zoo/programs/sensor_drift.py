import keras
import numpy as np

keras.utils.set_random_seed(1234)
rng = np.random.default_rng()

hours = np.arange(24 * 14, dtype="float32")
temperature = 18 + 5 * np.sin(hours / 24 * 2 * np.pi)
reading = temperature + rng.normal(0, 0.4, hours.shape)
x = np.stack([np.sin(hours / 24 * 2 * np.pi), np.cos(hours / 24 * 2 * np.pi), reading], axis=1).astype("float32")
y = temperature.astype("float32")

inputs = keras.Input((3,), name="reading")
norm = keras.layers.BatchNormalization()(inputs)
h = keras.layers.Dense(12, activation="relu")(norm)
outputs = keras.layers.Dense(1, name="temperature")(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="huber", steps_per_execution=4)
history = model.fit(x, y, epochs=2, batch_size=32, verbose=0)

print("loss", history.history["loss"])
print("checksum", float(np.sum([np.abs(w).astype("float64").sum() for w in model.get_weights()])).hex())
