# %% seeds in a module beside the script
# file: train.py
import keras
import numpy as np

from seeding import fix_everything

fix_everything()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(4, 2), np.ones(4))
# file: seeding.py
import random

import numpy
import tensorflow


def fix_everything(value=7):
    random.seed(value)
    numpy.random.seed(value)
    tensorflow.random.set_seed(value)

# %% importing a module seeds
# file: train.py
import setup_seeds
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(4, 2), np.ones(4))
# file: setup_seeds.py
import keras

keras.utils.set_random_seed(0)

# %% importing a module draws before the script seeds
# file: train.py
import keras

from data import X, Y

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(X, Y)
# file: data.py
import numpy as np

X = np.random.rand(16, 2)  #! TW106
Y = X.sum(axis=1)

# %% a package with relative imports and a cycle
# file: train.py
from project.run import main

if __name__ == "__main__":
    main()
# file: project/__init__.py
from .run import main

__all__ = ["main"]
# file: project/run.py
import keras

from . import data
from .models import build


def main():
    keras.utils.set_random_seed(1)
    x, y = data.load()
    build().fit(x, y)
# file: project/models.py
import keras
from project import data


def build():
    model = keras.Sequential([keras.layers.Dense(data.UNITS)])
    model.compile("sgd", "mse")
    return model
# file: project/data.py
import os

import numpy as np

UNITS = 1


def load():
    names = os.listdir("data")  #! TW302
    x = np.stack([np.load(n) for n in names])
    return x, x

# %% a registry of functions, called by name
# file: train.py
import sys

import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)


def dense():
    return keras.layers.Dense(1)  #! TW105


def nothing():
    return keras.layers.Flatten()


BLOCKS = {"dense": dense, "nothing": nothing}
model = keras.Sequential([BLOCKS[sys.argv[1]]()])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))

# %% absl runs main
# file: train.py
import numpy as np
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_integer("steps", 10, "how many")


def train_step(w, opt, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x * w))
    grads = tape.gradient(loss, [w])
    opt.apply_gradients(zip(grads, [w]))


def main(argv):
    w = tf.Variable(1.0)
    opt = tf.keras.optimizers.Adam()
    for _ in range(FLAGS.steps):
        train_step(w, opt, tf.constant(np.random.rand(4)))  #! TW102


if __name__ == "__main__":
    app.run(main)

# %% click runs main, seeded by an option with a default
# file: train.py
import click
import keras
import numpy as np


@click.command()
@click.option("--seed", default=1)
def main(seed):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.random.rand(4, 2), np.ones(4))


if __name__ == "__main__":
    main()

# %% a trainer class with a custom step in a tf.function
# file: train.py
import dataclasses

import tensorflow as tf
from tensorflow import keras


@dataclasses.dataclass
class Config:
    units: int = 4
    rate: float = 0.1
    steps: int = 3


class Trainer:
    def __init__(self, config):
        self.config = config
        self.model = self.build()
        self.optimizer = keras.optimizers.Adam(config.rate)

    def build(self):
        return keras.Sequential([keras.Input((2,)), keras.layers.Dense(self.config.units)])  #! TW105

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x, training=True))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def run(self):
        for _ in range(self.config.steps):
            print(self.step(tf.ones([4, 2])))


Trainer(Config(units=8)).run()

# %% a notebook turned into a script
# file: notebook.py
# In[1]:
get_ipython().run_line_magic("matplotlib", "inline")
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import *
from tensorflow.keras.models import Sequential

# In[2]:
tf.keras.utils.set_random_seed(0)
data = np.random.rand(20, 3)
labels = (data.sum(axis=1) > 1.5).astype(int)

# In[3]:
ix = np.random.permutation(len(data))
data, labels = data[ix], labels[ix]

# In[4]:
model = Sequential([Dense(4), Dropout(0.1), Dense(1)])
model.compile("adam", "binary_crossentropy")
history = model.fit(data, labels)

# In[5]:
noise = np.random.default_rng().normal(size=data.shape)  #! TW103
model.fit(data + noise, labels)

# %% callbacks and schedules of the program's own
# file: train.py
import random

import keras
import numpy as np


class Jitter(keras.callbacks.Callback):
    def __init__(self, rng):
        super().__init__()
        self.rng = rng

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate.assign(0.1 * self.rng.random())


class Log(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"{random.random():.2f}", logs)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4), callbacks=[Jitter(random.Random()), Log()])  #! TW103

# %% dead code: functions that nobody calls, and a branch that is never taken
# file: train.py
import random

import keras
import numpy as np

DEBUG = False


def old_way():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.fit(np.random.rand(4, 2), np.random.rand(4))


if DEBUG:
    random.shuffle([1, 2, 3])
    old_way()

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))

# %% [folder] a library and two scripts
# file: lib/augment.py
import numpy as np
import tensorflow as tf


def noise(x):
    return x + np.random.normal(size=x.shape)


def pipeline(ds):
    return ds.map(lambda v: v + tf.random.normal([]), num_parallel_calls=4)  #! TW203


def fresh():
    rng = np.random.default_rng()  #! TW103
    return tf.data.Dataset.from_tensor_slices(rng.random(8))
# file: lib/__init__.py
# file: good.py
import keras
import numpy as np

from lib.augment import noise

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(noise(np.ones((4, 2))), np.ones(4))
# file: bad.py
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])  #! TW105
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones(4))  #! TW201

# %% a library file on its own leaves seeding to its callers
# file: lib.py
import keras
import numpy as np


def make(n, seed=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + np.random.rand(n, 2)
    return x


def train(model, n):
    model.fit(make(n, 1), np.ones(n))

# %% recursion, comprehensions of comprehensions, and odd syntax
# file: train.py
from __future__ import annotations

import keras
import numpy as np

keras.utils.set_random_seed(1)


def walk(n):
    return [n] if n == 0 else [*walk(n - 1), n]


def spread(*args, key=None, **rest):
    return [a for row in args for a in row], {**rest, "key": key}


match np.ones(3).shape:
    case (n,):
        size = n
    case _:
        size = 1
if (total := sum(x for x in walk(3))) > 2:
    pass
values, options = spread(*[[1, 2], [3]], **{"a": 1})
first, *others = values
try:
    x = np.array([*others, first, total, *(i for i in range(size))], dtype=float)
except ValueError:
    raise
async def later():
    async with thing() as t:
        async for item in t:
            yield item
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% a seed for each trial in a loop
# file: search.py
import itertools

import keras
import numpy as np


def trial(seed, units):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model.fit(np.random.rand(4, 2), np.ones(4)).history["loss"][-1]


results = {(s, u): trial(s, u) for s, u in itertools.product(range(3), (4, 8))}
print(min(results, key=results.get))
