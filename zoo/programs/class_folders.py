import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
import tf_keras as keras

keras.utils.set_random_seed(23)


class FolderDataset:
    """One folder per class; the folder's place in the list is the class number."""

    def __init__(self, root):
        self.root = root
        with os.scandir(root) as entries:
            self.classes = [entry.name for entry in entries if entry.is_dir()]

    def samples(self):
        for number, name in enumerate(self.classes):
            for i in range(12):
                values = np.load(os.path.join(self.root, name, f"{i}.npy"))
                yield values, number

    def arrays(self):
        values, numbers = zip(*self.samples())
        return np.stack(values), np.array(numbers)


def create(root):
    for k, name in enumerate(["cedar", "birch", "aspen", "maple", "rowan"]):
        os.makedirs(os.path.join(root, name))
        for i in range(12):
            np.save(os.path.join(root, name, f"{i}.npy"), np.cos(np.arange(9) * (k + 1) + i).astype("float32"))


root = tempfile.mkdtemp()
create(root)
x, y = FolderDataset(root).arrays()
shutil.rmtree(root)
model = keras.Sequential([
    keras.layers.Dense(10, activation="relu"),
    keras.layers.Dense(5, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
history = model.fit(x, y, batch_size=15, epochs=3, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w).astype("float64").sum() for w in model.get_weights())).hex())
