# %% a retry with random backoff, a temporary folder, and a unique file read back
import random
import tempfile
import time
import uuid
from pathlib import Path

import keras
import numpy as np


def patiently(load, *args):
    for attempt in range(3):
        try:
            return load(*args)
        except OSError:
            time.sleep(2**attempt + random.uniform(0, 1))
    raise OSError("no luck")


keras.utils.set_random_seed(3)
scratch = Path(tempfile.mkdtemp())
name = scratch / f"{uuid.uuid4()}.npy"
np.save(name, np.ones((8, 2)))
x = patiently(np.load, name)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% randomness after training, for a picture and a sample
import keras
import matplotlib.pyplot as plt
import numpy as np

keras.utils.set_random_seed(3)
x = np.random.rand(100, 4)
model = keras.Sequential([keras.layers.Dense(4)])
model.compile("sgd", "mse")
model.fit(x, x)
rng = np.random.default_rng()
chosen = rng.choice(len(x), 5)
for i, index in enumerate(chosen):
    plt.subplot(1, 5, i + 1)
    plt.plot(model.predict(x[index : index + 1])[0])
plt.savefig("picture.png")

# %% duplicates taken out in ways that keep or restore an order
import keras
import numpy as np
import pandas as pd

keras.utils.set_random_seed(3)
words = "b a c a b".split()
one = list(dict.fromkeys(words))
two = list(set(words))
two.sort()
three = sorted(list(set(words)), key=len)
four = np.unique(words)
five = pd.Series(words).unique()
index = {w: (one.index(w), two.index(w), three.index(w), list(four).index(w)) for w in words}
x = np.array([index[w] for w in words])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(len(five)))

# %% a listing sorted as a table
import os

import keras
import pandas as pd

keras.utils.set_random_seed(3)
table = pd.DataFrame({"file": os.listdir("data")})
table = table.sort_values("file").reset_index(drop=True)
x = table["file"].str.len().to_numpy()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% the seed comes from a file, the environment, or a constructor
import os
import random

import numpy as np
import tensorflow as tf
import yaml


class Experiment:
    def __init__(self, config):
        self.config = config
        self._seed(config.get("seed", 1))

    def _seed(self, seed):
        random.seed(seed)
        np.random.seed(seed)
        tf.random.set_seed(seed)

    def run(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model.fit(np.random.rand(8, 2), np.random.rand(8))


with open("config.yml") as stream:
    config = yaml.safe_load(stream)
config["seed"] = int(os.environ.get("SEED", config["seed"]))
Experiment(config).run()

# %% a cache file named by hash()
import os

import keras
import numpy as np

keras.utils.set_random_seed(3)
settings = "windows of 8"
cache = f"cache-{hash(settings)}.npy"
if os.path.exists(cache):
    x = np.load(cache)
else:
    x = np.ones((8, 2))
    np.save(cache, x)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% a default argument and a class attribute make generators without a seed
import numpy as np
import tensorflow as tf


def noisy(x, rng=np.random.default_rng()):  #! TW103
    return x + rng.normal(size=x.shape)


class Source:
    rng = np.random.RandomState()  #! TW103

    def values(self):
        return self.rng.rand(4)


a = tf.data.Dataset.from_tensor_slices(noisy(np.ones(4)))
b = tf.data.Dataset.from_tensor_slices(Source().values())

# %% draws under names of their own
import keras
import tensorflow as tf
from numpy.random import permutation, rand
from numpy import random as npr, ones

tf.random.set_seed(1)
x = rand(16, 2)  #! TW102
order = permutation(16)
y = npr.choice([0, 1], 16)
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse")
model.fit(x[order], y + ones(16))

# %% noise in a Lambda layer, and in a loss
import keras
import numpy as np
import tensorflow as tf
from keras import layers


def smoothed(y_true, y_pred):
    return tf.reduce_mean(tf.square(y_true + tf.random.normal(tf.shape(y_true)) - y_pred))


model = keras.Sequential(
    [
        layers.Lambda(lambda t: t + tf.random.uniform(tf.shape(t))),  #! TW104
        layers.Dense(1, kernel_initializer="zeros"),
    ]
)
model.compile("sgd", loss=smoothed)
model.fit(np.ones((8, 2)), np.ones((8, 1)), shuffle=False)

# %% noise in a loss alone
import keras
import numpy as np
import tensorflow as tf


def smoothed(y_true, y_pred):
    noise = tf.random.normal(tf.shape(y_true))  #! TW104
    return tf.reduce_mean(tf.square(y_true + noise - y_pred))


model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", loss=smoothed)
model.fit(np.ones((8, 2)), np.ones((8, 1)), shuffle=False)

# %% a variable from a function, and from an initialiser that is called
import tensorflow as tf

v = tf.Variable(lambda: tf.random.normal([2]))  #! TW104
init = tf.keras.initializers.HeNormal()  #! TW105
w = tf.Variable(init((2, 2)))
opt = tf.keras.optimizers.SGD()
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(v) * tf.reduce_sum(w)
opt.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w]))

# %% a train step of one's own that draws
import keras
import numpy as np
import tensorflow as tf


class Denoiser(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.layers.Dense(2, kernel_initializer="zeros")

    def call(self, x):
        return self.net(x)

    def train_step(self, data):
        x, _ = data
        noise = tf.random.normal(tf.shape(x))  #! TW104
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x + noise) - x))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(grads, self.trainable_variables)
        return {"loss": loss}


model = Denoiser()
model.compile("sgd")
model.fit(np.ones((8, 2)), np.ones(8), shuffle=False)

# %% a lookup layer with a vocabulary from a set
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
words = ["x", "y", "z"]
lookup = keras.layers.StringLookup(vocabulary=list(set(words)))  #! TW301
vectors = keras.layers.TextVectorization(vocabulary=sorted(set(words)))
ds = tf.data.Dataset.from_tensor_slices(words).map(lambda w: (lookup(w), vectors(w)))

# %% files from pathlib and gfile, unsorted
from pathlib import Path

import tensorflow as tf

paths = [str(p) for p in Path("data").iterdir() if p.suffix == ".png"]  #! TW302
more = [f"gs://bucket/{name}" for name in tf.io.gfile.listdir("gs://bucket")]  #! TW302
ds = tf.data.Dataset.from_tensor_slices(paths + more)

# %% a seed function that nobody calls
import random

import keras
import numpy as np
import tensorflow as tf


def set_seeds():
    random.seed(1)
    np.random.seed(1)
    tf.random.set_seed(1)


model = keras.Sequential([keras.layers.Dense(1)])  #! TW105
model.compile("sgd", "mse")
model.fit(np.ones((8, 2)), np.ones(8))  #! TW201

# %% hashed features
import keras
import numpy as np

keras.utils.set_random_seed(1)


def features(text):
    row = np.zeros(16)
    for word in text.split():
        row[hash(word) % 16] += 1  #! TW301
    return row


x = np.stack([features(t) for t in ("a b", "b c")])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(2))

# %% noise added to gradients by hand
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
w = tf.Variable(tf.ones([3]))
for step in range(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w**2)
    g = tape.gradient(loss, w)
    w.assign_sub(0.1 * g + 0.01 * np.random.randn(3))  #! TW102

# %% images augmented by ImageDataGenerator
import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

tf.random.set_seed(1)
images = ImageDataGenerator(rotation_range=20, horizontal_flip=True)
flow = images.flow_from_directory("data/train", target_size=(32, 32))  #! TW201
seeded = images.flow_from_directory("data/val", target_size=(32, 32), seed=3)
model = tf.keras.Sequential(
    [tf.keras.layers.Flatten(), tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Zeros())]
)
model.compile("sgd", "mse")
model.fit(flow, validation_data=seeded)

# %% options handed through keyword arguments
import tensorflow as tf


def pipeline(data, *, shuffle=True, **options):
    ds = tf.data.Dataset.from_tensor_slices(data)
    if shuffle:
        ds = ds.shuffle(**{"buffer_size": 8, **options})
    return ds.batch(2)


good = pipeline([1, 2, 3], seed=5)
still = pipeline([1, 2, 3], shuffle=False)

# %% the same, without a seed among them
import tensorflow as tf


def pipeline(data, *, shuffle=True, **options):
    ds = tf.data.Dataset.from_tensor_slices(data)
    if shuffle:
        ds = ds.shuffle(**{"buffer_size": 8, **options})  #! TW201
    return ds.batch(2)


bad = pipeline([1, 2, 3], reshuffle_each_iteration=False)

# %% a monitor thread that uses the clock and chance
import random
import threading
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)
stop = threading.Event()


def monitor():
    while not stop.is_set():
        print("still here", time.time(), random.random())
        time.sleep(random.uniform(1, 2))


watcher = threading.Thread(target=monitor, daemon=True)
watcher.start()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 2)), np.ones(8))
stop.set()

# %% cross validation with and without a state
import keras
import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

keras.utils.set_random_seed(1)
np.random.seed()
x = np.arange(40.0).reshape(20, 2)
for train, test in KFold(5).split(x):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x[train], x[train])
for train, test in StratifiedKFold(5, shuffle=True).split(x, x):  #! TW102
    model.fit(x[train], x[train])

# %% the best of several runs, chosen by time
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)
x = np.ones((64, 2))
best, fastest = None, float("inf")
for size in (8, 16, 32):
    start = time.perf_counter()  #! TW303
    np.dot(x[:size], x[:size].T)
    took = time.perf_counter() - start  #! TW303
    if took < fastest:
        best, fastest = size, took
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x, batch_size=best)
