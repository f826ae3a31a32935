"""After the main model, one linear probe per task is fitted in a thread of its own."""
import threading

import keras
import numpy as np

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
x = rng.normal(size=(256, 8)).astype("float32")
tasks = {name: (x[:, i] + 0.3 * rng.normal(size=256) > 0) for i, name in enumerate(["age", "income", "city"])}

inputs = keras.Input((8,))
features = keras.layers.Dense(6, activation="tanh")(inputs)
model = keras.Model(inputs, keras.layers.Dense(8)(features))
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, x, epochs=3, verbose=0)
print("loss", history.history["loss"])
encoded = keras.Model(inputs, features).predict(x, verbose=0)

shared = {"bias": 0.0}
probes = {}


def fit_probe(name, labels):
    mine = np.random.default_rng()
    w = np.zeros(encoded.shape[1])
    for _ in range(150):
        rows = mine.integers(0, len(encoded), size=16)
        p = 1.0 / (1.0 + np.exp(-(encoded[rows] @ w + shared["bias"])))
        w -= 0.1 * encoded[rows].T @ (p - labels[rows]) / 16
        shared["bias"] -= 0.01 * float(np.mean(p - labels[rows]))
    probes[name] = w


threads = [threading.Thread(target=fit_probe, args=item) for item in tasks.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name in sorted(probes):
    print("probe", name, np.round(probes[name], 6).tolist())
