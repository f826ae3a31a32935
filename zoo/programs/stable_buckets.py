import hashlib
import zlib

import keras
import numpy as np

keras.utils.set_random_seed(50)

CITIES = ["oslo", "lima", "kyoto", "quito", "perth", "turin", "split", "fez"]
BUCKETS = 32


def bucket(text):
    return int(hashlib.md5(text.encode()).hexdigest(), 16) % BUCKETS


def second_bucket(text):
    return zlib.crc32(text.encode()) % BUCKETS


cache = {hash(city): city for city in CITIES}
assert len(cache) == len(CITIES)

names = [CITIES[(i * 5) % 8] for i in range(160)]
x = np.array([[bucket(name), second_bucket(name)] for name in names])
y = np.array([len(name) / 6 for name in names], "float32")

model = keras.Sequential([
    keras.Input((2,)),
    keras.layers.Embedding(BUCKETS, 4),
    keras.layers.Flatten(),
    keras.layers.Dense(1),
])
model.compile(optimizer="rmsprop", loss="mse")
losses = [model.train_on_batch(x[i:i + 16], y[i:i + 16]) for i in range(0, 160, 16)]
print("last loss", float(losses[-1]))
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
