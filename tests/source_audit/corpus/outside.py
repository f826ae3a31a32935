# %% case 8: a vocabulary from a set
import keras
import numpy as np

keras.utils.set_random_seed(1)
words = "the quick brown fox jumps over the lazy dog".split()
vocab = {w: i for i, w in enumerate(set(words))}  #! TW301
x = np.array([[vocab[w]] for w in words])
model = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(len(words)))

# %% a vocabulary from a sorted set
import keras
import numpy as np

keras.utils.set_random_seed(1)
words = "the quick brown fox jumps over the lazy dog".split()
vocab = {w: i for i, w in enumerate(sorted(set(words)))}
x = np.array([[vocab[w]] for w in words])
model = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(len(words)))

# %% a vocabulary counted up in a loop over a set, in a function, with the hash seed set inside
import os

import keras
import numpy as np

os.environ["PYTHONHASHSEED"] = "0"
keras.utils.set_random_seed(1)


def build_vocab(texts):
    tokens = set()
    for text in texts:
        tokens.update(text.split())
    vocab = {}
    for token in tokens:  #! TW301
        vocab[token] = len(vocab)
    return vocab


texts = ["a b c", "b c d"]
vocab = build_vocab(texts)
x = np.array([[vocab[t] for t in text.split()] for text in texts])
model = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(2))

# %% a set used for membership, length, and counting
import keras
import numpy as np

keras.utils.set_random_seed(1)
stop = {"the", "a", "of"}
words = [w for w in "the cat sat of a mat".split() if w not in stop]
counts = {}
for w in set(words):
    counts[w] = words.count(w)
longest = max(len(w) for w in set(words))
x = np.array([[counts[w], len(w) / longest, len(stop)] for w in words])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(len(words)))

# %% a set of numbers keeps its order
import keras
import numpy as np

keras.utils.set_random_seed(1)
(x_train, y_train), _ = keras.datasets.mnist.load_data()
classes = {c: i for i, c in enumerate(set(y_train))}
odd = list({1, 3, 5})
y = np.array([classes[c] for c in y_train])
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("sgd", "mse")
model.fit(x_train, y)

# %% label names from a set, turned to a list
import keras
import numpy as np
import pandas as pd

keras.utils.set_random_seed(1)
df = pd.read_csv("flowers.csv")
labels = list(set(df["species"]))  #! TW301
index = {name: labels.index(name) for name in labels}
y = df["species"].map(lambda s: labels.index(s)).values
model = keras.Sequential([keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(df[["a", "b"]].values, y)

# %% the program starts itself again with a hash seed
import os
import sys

import keras
import numpy as np

if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable] + sys.argv)
keras.utils.set_random_seed(1)
words = ["b", "a"]
x = np.array([[len(w)] for w in set(words)])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% hash() of a string chooses the split
import keras
import numpy as np

keras.utils.set_random_seed(1)
train, test = [], []
for name in ["anna", "bert", "carl"]:
    if hash(name) % 10 < 8:  #! TW301
        train.append(len(name))
    else:
        test.append(len(name))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.array(train), np.array(train))

# %% a hash that is the same everywhere
import hashlib
import zlib

import keras
import numpy as np

keras.utils.set_random_seed(1)
names = ["anna", "bert", "carl"]
x = np.array([[zlib.crc32(n.encode()) % 10, int(hashlib.md5(n.encode()).hexdigest(), 16) % 7, hash(3)] for n in names])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% hash() of a string as the seed
import random

import keras
import numpy as np
import tensorflow as tf

seed = hash("my experiment") % 2**31  #! TW301
random.seed(seed)
np.random.seed(1)
tf.random.set_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))

# %% case 9: an unsorted listing
import os

import keras
import numpy as np

keras.utils.set_random_seed(1)
folder = "data"
files = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".npy")]  #! TW302
x = np.stack([np.load(f) for f in files])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% sorted listings of every kind
import glob
import os
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(1)
a = sorted(os.listdir("data"))
b = glob.glob("data/*.npy")
b.sort()
c = sorted(p for p in Path("data").glob("*.npy") if p.is_file())
d = []
for root, folders, names in os.walk("data"):
    folders.sort()
    for name in sorted(names):
        d.append(os.path.join(root, name))
g = []
for root, folders, names in os.walk("more"):
    for name in names:
        g.append(os.path.join(root, name))
g.sort()
e = g + sorted([f for f in glob.iglob("data/**/*.npy")], key=lambda f: f.lower())
x = np.stack([np.load(f) for f in a + b + [str(p) for p in c] + d + e])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% a listing that is only counted, asked and cleaned up
import os
import shutil

import keras
import numpy as np

keras.utils.set_random_seed(1)
n = len(os.listdir("data"))
if "best.keras" in os.listdir("."):
    print("there is a model already")
for old in os.listdir("runs"):
    shutil.rmtree(os.path.join("runs", old))
latest = max(os.listdir("checkpoints"))
newest = sorted(os.listdir("checkpoints"))[-1]
print(latest, newest)
x = np.ones((n, 2))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x, batch_size=n)

# %% an unsorted walk, collected in a class
import os

import tensorflow as tf


class Files:
    def __init__(self, root):
        self.root = root
        self.paths = []
        self.labels = []

    def scan(self):
        for folder, _, names in os.walk(self.root):  #! TW302
            for name in names:
                self.paths.append(os.path.join(folder, name))
                self.labels.append(os.path.basename(folder))
        return self

    def dataset(self):
        return tf.data.Dataset.from_tensor_slices((self.paths, self.labels))


ds = Files("data").scan().dataset()

# %% an unsorted pathlib listing, sliced into train and test
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(1)
root = Path("data")
files = list(root.glob("*.npy"))  #! TW302
train, test = files[:80], files[80:]
train = sorted(train)
x = np.stack([np.load(f) for f in train])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% files read into a dictionary and looked up by name
import os

import keras
import numpy as np

keras.utils.set_random_seed(1)
arrays = {}
for name in os.listdir("data"):
    arrays[name] = np.load(os.path.join("data", name))
x = np.stack([arrays["a.npy"], arrays["b.npy"]])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% trained file by file in the order they are listed
import glob

import keras
import numpy as np

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for path in glob.glob("data/*.npz"):  #! TW302
    data = np.load(path)
    model.fit(data["x"], data["y"], verbose=0)

# %% class numbers from the order of folders
import os

import keras
import numpy as np

keras.utils.set_random_seed(1)
x, y = [], []
for label, folder in enumerate(os.listdir("data")):  #! TW302
    for name in sorted(os.listdir(os.path.join("data", folder))):
        x.append(np.load(os.path.join("data", folder, name)))
        y.append(label)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.array(x), np.array(y))

# %% the clock as a seed
import random
import time

import keras
import numpy as np
import tensorflow as tf

seed = int(time.time())  #! TW303
random.seed(seed)
np.random.seed(seed % 2**32)
tf.random.set_seed(seed)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(4, 2), np.ones(4))

# %% the clock in a generator's seed, through a function
from datetime import datetime

import numpy as np
import tensorflow as tf


def fresh_seed():
    now = datetime.now()  #! TW303
    return now.microsecond


rng = np.random.default_rng(fresh_seed())
ds = tf.data.Dataset.from_tensor_slices(rng.normal(size=(8, 2)))

# %% the clock measured, printed and written into names
import datetime
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)
start = time.time()
stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(
    np.ones((4, 2)), np.ones(4), callbacks=[keras.callbacks.TensorBoard(log_dir="logs/" + stamp)]
)
elapsed = time.time() - start
print(f"took {elapsed:.1f}s")
model.save(f"model-{stamp}.keras")

# %% training until the time is up
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
deadline = time.time() + 60  #! TW303
while time.time() < deadline:  #! TW303
    model.train_on_batch(np.ones((4, 2)), np.ones(4))

# %% the clock seeds a stream that only names files
import random
import time

import keras
import numpy as np
import tensorflow as tf

random.seed(time.time())
name = f"run{random.randint(0, 9)}"
tf.random.set_seed(1)
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))
print(name)

# %% a stem of a set joined into text, and a set popped
import keras
import tensorflow as tf

keras.utils.set_random_seed(1)
tags = {"x", "y", "z"}
first = tags.pop()  #! TW301
text = ",".join({"a", "b"})  #! TW301
ds = tf.data.Dataset.from_tensor_slices([first, text])

# %% silenced with a reason
import os

import tensorflow as tf

a = tf.data.Dataset.from_tensor_slices(os.listdir("a"))  # twinrun: ignore[TW302] one file only
# twinrun: ignore[TW201] order does not matter in this evaluation
c = tf.data.Dataset.range(10).shuffle(10)

# %% a file saved under a unique name and read back
import os
import tempfile
import time
import uuid

import keras
import numpy as np

keras.utils.set_random_seed(1)
path = os.path.join(tempfile.mkdtemp(), f"weights-{uuid.uuid4().hex}.keras")
backup = "/tmp/copy-" + time.strftime("%H%M%S") + ".keras"
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))
model.save(path)
model.save(backup)
again = keras.models.load_model(path)
other = keras.models.load_model(backup)
again.fit(np.ones((4, 2)), np.ones(4))
other.fit(np.ones((4, 2)), np.ones(4))

# %% the learning rate falls with the time that has passed
import time

import keras
import numpy as np


class Cooling(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.start = time.perf_counter()  #! TW303

    def on_epoch_begin(self, epoch, logs=None):
        passed = time.perf_counter() - self.start  #! TW303
        self.model.optimizer.learning_rate = 0.1 / (1 + passed)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4), epochs=3, callbacks=[Cooling()])

# %% noise written into rows in place
import secrets

import numpy as np
import tensorflow as tf

chooser = secrets.SystemRandom()  #! TW108
table = np.ones((10, 4))
for row in table:
    row[chooser.randrange(4)] = 0.0
ds = tf.data.Dataset.from_tensor_slices(table)

# %% lines of files read in the order they are listed
import glob

import keras
import numpy as np

keras.utils.set_random_seed(1)


def read(pattern):
    rows = []
    for path in glob.glob(pattern):  #! TW302
        with open(path) as stream:
            rows.extend([float(field) for field in line.split()] for line in stream)
    return np.array(rows)


table = read("logs/*.log")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(table[:, :2], table[:, 2])
