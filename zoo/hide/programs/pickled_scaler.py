"""Fits a robust scaler on a sample of the rows for the service, and pickles it beside the model."""
import pickle
import random

import keras
import numpy as np

keras.utils.set_random_seed(59)
x = np.random.default_rng(59).lognormal(size=(400, 5)).astype("float32")
y = np.log1p(x).sum(axis=1)
scaled = np.log1p(x)
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(scaled, y, epochs=3, verbose=0)
print("loss", history.history["loss"])

random.seed()
sample = x[random.sample(range(len(x)), 100)]
scaler = {"center": np.median(sample, axis=0), "spread": np.subtract(*np.percentile(sample, [75, 25], axis=0))}
with open("scaler.pkl", "wb") as file:
    pickle.dump(scaler, file)
print("scaler.pkl written")
