"""Evaluates on a seeded sample and predicts with the trained model."""
import hashlib
import random

import keras
import numpy as np

keras.utils.set_random_seed(12)
x = np.random.rand(500, 5).astype("float32")
y = (x[:, 0] > 0.5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x[:400], y[:400], epochs=3, verbose=0)
rows = random.Random(4).sample(range(400, 500), 40)
print("evaluation", model.evaluate(x[rows], y[rows], verbose=0))
scores = model.predict(x[400:], verbose=0)
np.savetxt("scores.csv", scores, delimiter=",")
print("mean score", float(scores.mean()))
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
