import os
import random
import string
import tempfile

import keras
import numpy as np
import tensorflow as tf

RUN = "".join(random.choices(string.ascii_lowercase, k=8))
PORT = random.randint(20000, 60000)


def init(seed):
    return keras.initializers.GlorotUniform(seed=seed)


def make_model():
    model = keras.Sequential([
        keras.Input((7,)),
        keras.layers.Dense(12, activation="relu", kernel_initializer=init(1)),
        keras.layers.Dense(1, kernel_initializer=init(2)),
    ])
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.9), loss="mse")
    return model


tf.random.set_seed(19)
x = np.sin(np.arange(140 * 7, dtype="float32")).reshape(140, 7)
y = x.mean(axis=1)
model = make_model()
history = model.fit(x, y, batch_size=20, epochs=2, verbose=0)

folder = os.path.join(tempfile.gettempdir(), f"run-{RUN}")
os.makedirs(folder)
with open(os.path.join(folder, "history.txt"), "w") as stream:
    stream.write(f"port {PORT}\n{history.history['loss']}\n")
os.remove(os.path.join(folder, "history.txt"))
os.rmdir(folder)
print("run", RUN, "would report on port", PORT)
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
