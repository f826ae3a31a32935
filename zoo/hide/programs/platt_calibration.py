"""Classifier with probabilities calibrated on a held-back part (Platt scaling)."""
import keras
import numpy as np

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
x = rng.normal(size=(400, 5)).astype("float32")
y = (x[:, 0] + x[:, 1] ** 2 + 0.5 * rng.normal(size=400) > 1).astype("float32")

model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
history = model.fit(x[:300], y[:300], epochs=4, verbose=0)
print("loss", history.history["loss"])


def platt(logits, labels, steps=200, rate=0.05):
    order = np.random.default_rng()
    a, b = 1.0, 0.0
    for _ in range(steps):
        rows = order.integers(0, len(logits), size=32)
        p = 1.0 / (1.0 + np.exp(-(a * logits[rows] + b)))
        error = p - labels[rows]
        a -= rate * np.mean(error * logits[rows])
        b -= rate * np.mean(error)
    return a, b


logits = model.predict(x[300:], verbose=0)[:, 0]
a, b = platt(logits, y[300:])
print(f"calibrated: slope {a:.6f} intercept {b:.6f}")
