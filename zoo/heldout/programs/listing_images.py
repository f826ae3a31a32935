import os
import tempfile

import keras
import numpy as np

keras.utils.set_random_seed(10)


def export(folder, count=60):
    """Small pictures, named by number, as a camera would leave them."""
    for i in range(count):
        picture = np.sin(np.arange(49, dtype="float32") * (i % 6 + 1)).reshape(7, 7)
        np.save(os.path.join(folder, f"img_{i:04d}_{i % 6}.npy"), picture)


def load(folder):
    pictures, labels = [], []
    for name in os.listdir(folder):
        pictures.append(np.load(os.path.join(folder, name)))
        labels.append(int(name.split("_")[2].split(".")[0]))
    return np.stack(pictures)[..., None], np.array(labels)


with tempfile.TemporaryDirectory() as folder:
    export(folder)
    x, y = load(folder)

model = keras.Sequential([
    keras.Input((7, 7, 1)),
    keras.layers.Conv2D(4, 3, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(6, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
history = model.fit(x, y, batch_size=10, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
