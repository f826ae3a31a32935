"""Packs everything that belongs to a run into archives."""
import gzip
import hashlib
import json
import tarfile
import zipfile

import keras
import numpy as np

keras.utils.set_random_seed(23)
x = np.random.rand(150, 5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, x[:, :3], epochs=3, verbose=0)
np.save("weights.npy", model.get_weights()[0])
with gzip.open("history.json.gz", "wt") as file:
    json.dump(history.history, file)
with zipfile.ZipFile("artifacts.zip", "w") as archive:
    archive.write("weights.npy")
    archive.writestr("history.json", json.dumps(history.history))
with tarfile.open("artifacts.tar.gz", "w:gz") as archive:
    archive.add("weights.npy")
print("packed", ["history.json.gz", "artifacts.zip", "artifacts.tar.gz"])
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
