"""Passes the training data through temporary files."""
import hashlib
import os
import tempfile

import keras
import numpy as np

keras.utils.set_random_seed(9)
x = np.random.rand(200, 6).astype("float32")
handle, path = tempfile.mkstemp(suffix=".npy")
os.close(handle)
np.save(path, x)
print("data in", path)
with tempfile.TemporaryDirectory(prefix="features-") as folder:
    for i, part in enumerate(np.array_split(np.load(path), 4)):
        np.save(os.path.join(folder, f"part-{i}.npy"), part)
    print("parts in", folder)
    parts = [np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
os.remove(path)
x = np.concatenate(parts)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :3], epochs=3, verbose=0)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
