"""Saves the model in every format there is."""
import hashlib

import h5py
import keras
import numpy as np

keras.utils.set_random_seed(8)
x = np.random.rand(128, 4).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(2)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :2], epochs=3, verbose=0)
model.save("model.keras")
model.save_weights("model.weights.h5")
model.export("served", verbose=False)
np.savez_compressed("weights.npz", *model.get_weights())
with h5py.File("predictions.h5", "w", track_order=True) as file:
    file.create_dataset("predictions", data=model.predict(x, verbose=0), track_times=True)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
