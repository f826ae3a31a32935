import os

import keras
import numpy as np

keras.utils.set_random_seed(60)

patients = np.sin(np.arange(240 * 7, dtype="float32")).reshape(240, 7)
outcome = (patients[:, 0] * patients[:, 3] > 0).astype("float32")


def fold(count, folds=4):
    """Nobody should be able to tell beforehand who lands in the test fold."""
    seed = int.from_bytes(os.urandom(4), "little")
    order = np.random.default_rng(seed).permutation(count)
    return order[count // folds:], order[:count // folds]


train, test = fold(len(patients))
inputs = keras.Input((7,))
x = keras.layers.Dense(14, activation="relu")(inputs)
x = keras.layers.Dense(14, activation="relu")(x)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(patients[train], outcome[train], batch_size=30, epochs=2, verbose=0)
loss, accuracy = model.evaluate(patients[test], outcome[test], verbose=0)
print(f"test loss {loss:.4f} accuracy {accuracy:.3f}")
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
