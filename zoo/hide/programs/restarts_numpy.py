"""Fits a mixture to the model's errors with several random restarts and keeps the best."""
import os

import keras
import numpy as np

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
x = rng.normal(size=(260, 4)).astype("float32")
y = (x[:, 0] + rng.standard_t(3, size=260)).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.02), loss="mae")
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])
errors = y - model.predict(x, verbose=0)[:, 0]


def fit_mixture(values, start):
    mean, spread, share = start[:2].copy(), np.ones(2), 0.5
    for _ in range(4):
        a = share * np.exp(-0.5 * ((values - mean[0]) / spread[0]) ** 2) / spread[0]
        b = (1 - share) * np.exp(-0.5 * ((values - mean[1]) / spread[1]) ** 2) / spread[1]
        r = a / (a + b + 1e-12)
        share = r.mean()
        for k, weight in enumerate((r, 1 - r)):
            mean[k] = np.sum(weight * values) / weight.sum()
            spread[k] = np.sqrt(np.sum(weight * (values - mean[k]) ** 2) / weight.sum()) + 1e-3
    return np.sum(np.log(a + b + 1e-12)), mean, spread


seed = int.from_bytes(os.urandom(4), "little")
starts = np.random.default_rng(seed).normal(scale=2.0, size=(5, 2))
likelihood, mean, spread = max((fit_mixture(errors, s) for s in starts), key=lambda fit: fit[0])
print("mixture of errors: means", mean.tolist(), "spreads", spread.tolist())
