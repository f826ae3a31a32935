"""Writes TensorBoard event files and a checkpoint for every epoch, with the date in their names."""
import hashlib
import time

import keras
import numpy as np

keras.utils.set_random_seed(6)
x = np.random.rand(256, 6).astype("float32")
y = (x.sum(axis=1) > 3).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
callbacks = [
    keras.callbacks.TensorBoard(f"logs/{stamp}", histogram_freq=1),
    keras.callbacks.ModelCheckpoint(f"checkpoint-{stamp}-{{epoch:02d}}.keras"),
]
model.fit(x, y, epochs=2, verbose=0, callbacks=callbacks)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
