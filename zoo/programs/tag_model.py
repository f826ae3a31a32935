import hashlib

import keras
import numpy as np
import tensorflow as tf

np.random.seed(100)
tf.random.set_seed(100)

POSTS = [
    ("bread rises slowly", ["baking", "kitchen"]),
    ("oil the chain", ["bicycle", "repair"]),
    ("sharpen the plane", ["wood", "repair"]),
    ("roast the beans", ["coffee", "kitchen"]),
    ("true the wheel", ["bicycle", "wheel"]),
    ("knead and wait", ["baking", "patience"]),
] * 10

tags = {tag for _, marks in POSTS for tag in marks}
column = {tag: i for i, tag in enumerate(tags)}


def features(text):
    return [len(text) / 20, text.count("e"), text.count("a"), text.count("n")]


x = np.array([features(text) for text, _ in POSTS], "float32")
y = np.zeros((len(POSTS), len(tags)), "float32")
for i, (_, marks) in enumerate(POSTS):
    for tag in marks:
        y[i, column[tag]] = 1.0

model = keras.Sequential([
    keras.Input((4,)),
    keras.layers.Dense(12, activation="relu"),
    keras.layers.Dense(len(tags), activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x, y, batch_size=10, epochs=3, verbose=0)
print("loss", history.history["loss"])
print("checksum", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest()[:32])
