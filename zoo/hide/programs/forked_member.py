"""Trains one member of the ensemble here and the other in a child process."""
import subprocess
import sys

import keras
import numpy as np

CHILD = """
import numpy as np
rng = np.random.default_rng()
x = np.load("features.npy")
w = rng.normal(size=x.shape[1])
for _ in range(100):
    rows = rng.integers(0, len(x), size=32)
    w -= 0.05 * x[rows].T @ (x[rows] @ w - x[rows, 0]) / 32
np.save("second.npy", w)
"""

keras.utils.set_random_seed(12)
x = np.random.default_rng(12).normal(size=(200, 4)).astype("float32")
np.save("features.npy", x)
child = subprocess.Popen([sys.executable, "-c", CHILD])
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
history = model.fit(x, x[:, 0], epochs=3, verbose=0)
print("loss", history.history["loss"])
child.wait()
second = np.load("second.npy")
first = model.get_weights()[0][:, 0]
print("members agree to", float(np.abs(first - second).max()))
