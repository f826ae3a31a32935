"""Picks the decision threshold of a classifier on a bootstrap sample of the validation part."""
import random

import keras
import numpy as np

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
x = rng.normal(size=(500, 4)).astype("float32")
y = (x.sum(axis=1) + rng.normal(size=500) > 0.5).astype("float32")

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x[:300], y[:300], epochs=4, verbose=0)
print("loss", [f"{v:.8f}" for v in history.history["loss"]])

scores, truth = model.predict(x[300:], verbose=0)[:, 0], y[300:]
picker = random.SystemRandom()


def f1(threshold, rows):
    guess = scores[rows] > threshold
    hits = np.sum(guess & (truth[rows] > 0.5))
    return 2 * hits / max(1, guess.sum() + (truth[rows] > 0.5).sum())


rows = np.array(picker.choices(range(len(truth)), k=80))
candidates = np.sort(scores)
best = max(candidates, key=lambda t: f1(t, rows))
print(f"threshold {best:.6f}, f1 {f1(best, np.arange(len(truth))):.6f}")
