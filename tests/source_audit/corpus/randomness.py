# %% case 6: NumPy and TensorFlow seeded, Keras 3 not
import numpy as np
import tensorflow as tf
from tensorflow import keras

np.random.seed(42)
tf.random.set_seed(42)
x = np.random.rand(64, 4)
y = np.random.rand(64, 1)
model = keras.Sequential(
    [
        keras.layers.Dense(8, activation="relu"),  #! TW105
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
model.fit(x, y, epochs=2)

# %% all three streams seeded by Keras
import keras
import numpy as np

keras.utils.set_random_seed(42)
x = np.random.rand(64, 4)
y = np.random.rand(64, 1)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y)

# %% nothing seeded at all
import keras
import numpy as np

x = np.random.rand(64, 4)  #! TW102
y = np.random.rand(64, 1)
model = keras.Sequential([keras.layers.Dense(1)])  #! TW105
model.compile("sgd", "mse")
model.fit(x, y)  #! TW201

# %% seeded through a helper function with another name for everything
import os
import random as rnd

import numpy as xp
import tensorflow as T
from tensorflow.keras import layers as L, models as M


def everything(n):
    os.environ["PYTHONHASHSEED"] = str(n)
    rnd.seed(n)
    xp.random.seed(n)
    T.random.set_seed(n)


everything(3)
net = M.Sequential([L.Dense(4), L.Dropout(0.1), L.Dense(1)])
net.compile("adam", "mse")
net.fit(xp.random.rand(8, 2), xp.random.rand(8, 1))

# %% the helper forgets one library
import random

import keras
import numpy as np
import tensorflow as tf


def seed_all(seed):
    random.seed(seed)
    tf.random.set_seed(seed)


def load():
    features = np.random.normal(size=(32, 3))  #! TW102
    return features, features.sum(axis=1)


seed_all(1)
x, y = load()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)

# %% python random shuffles the examples
import random
from random import shuffle

import keras
import numpy as np
import tensorflow as tf

np.random.seed(0)
tf.random.set_seed(0)
pairs = [(i / 10, i % 2) for i in range(100)]
shuffle(pairs)  #! TW101
x = np.array([p[0] for p in pairs])
y = np.array([p[1] for p in pairs])
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(x, y)

# %% python random names a file, jitters a sleep and picks a port
import random
import time

import keras
import numpy as np

rng = np.random.default_rng(7)
run = f"run-{random.randint(0, 99999)}"
time.sleep(random.random() * 0.01)
port = random.randrange(20000, 30000)
print("serving on", port)
x = rng.normal(size=(32, 2))
model = keras.Sequential(
    [keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(seed=1))], name=run
)
model.compile("sgd", "mse")
model.fit(x, x[:, :1], shuffle=False, callbacks=[keras.callbacks.CSVLogger(f"{run}.csv")])
model.save(f"{run}.keras")

# %% a generator without a seed
import keras
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng()  #! TW103
x = rng.uniform(size=(16, 2))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, 0])

# %% a generator with a seed kept on self, in a class
import keras
import numpy as np


class Task:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def batch(self, n):
        x = self.rng.normal(size=(n, 3)).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


keras.utils.set_random_seed(5)
task = Task(seed=11)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for _ in range(3):
    x, y = task.batch(32)
    model.train_on_batch(x, y)

# %% the same class, made without a seed
import keras
import numpy as np


class Task:
    def __init__(self, seed=None):
        self.rng = np.random.RandomState(seed)  #! TW103

    def batch(self, n):
        x = self.rng.normal(size=(n, 3)).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


keras.utils.set_random_seed(5)
task = Task()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for _ in range(3):
    x, y = task.batch(32)
    model.train_on_batch(x, y)

# %% a tf generator from nowhere, in a custom loop
import tensorflow as tf

tf.random.set_seed(1)
g = tf.random.Generator.from_non_deterministic_state()  #! TW103
w = tf.Variable(tf.zeros([2, 1]))
opt = tf.keras.optimizers.SGD(0.1)
for step in range(10):
    x = g.normal([8, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w - 1.0))
    opt.apply_gradients([(tape.gradient(loss, w), w)])

# %% tf weights without a global seed, in a main function
import argparse

import tensorflow as tf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    w = tf.Variable(tf.random.normal([2, 1]))  #! TW104
    opt = tf.keras.optimizers.SGD(0.1)
    for _ in range(args.steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        opt.apply_gradients(zip(tape.gradient(loss, [w]), [w]))


if __name__ == "__main__":
    main()

# %% the same with an op seed, and with the global seed
import tensorflow as tf

a = tf.Variable(tf.random.normal([2, 1], seed=3))
tf.random.set_seed(9)
b = tf.Variable(tf.random.uniform([2, 1]))
opt = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(a * b)
opt.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b]))

# %% case 12: layers built, then seeded
import keras
import numpy as np

x = np.linspace(0, 1, 32).reshape(-1, 1)
model = keras.Sequential(
    [
        keras.Input((1,)),
        keras.layers.Dense(4),  #! TW106
        keras.layers.Dense(1),
    ]
)
keras.utils.set_random_seed(42)
model.compile("sgd", "mse")
model.fit(x, 2 * x)

# %% a module-level draw before main seeds
import keras
import numpy as np

NOISE = np.random.rand(32, 1)  #! TW106


def main():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(NOISE, NOISE * 2)


main()

# %% drawn before seeding, but only for a name
import keras
import numpy as np

run = "run%d" % np.random.randint(1000)
keras.utils.set_random_seed(3)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)))
print(run)

# %% os entropy as the seed of everything
import os

import keras
import numpy as np

seed = int.from_bytes(os.urandom(4), "little")  #! TW108
keras.utils.set_random_seed(seed)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)))

# %% uuid for the run, secrets for the token
import secrets
import uuid

import keras
import numpy as np

keras.utils.set_random_seed(1)
run_id = uuid.uuid4().hex
token = secrets.token_hex(8)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)), callbacks=[keras.callbacks.TensorBoard(log_dir=f"logs/{run_id}")])
print(token)

# %% op determinism asked for, seeds missing
import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.config.experimental.enable_op_determinism()
x = np.ones((8, 2), "float32")
model = keras.Sequential([keras.layers.Dense(1)])  #! TW105
model.compile("sgd", "mse")
model.fit(x, x[:, 0], shuffle=False)

# %% random control flow in augmentation by hand
import random

import keras
import numpy as np
import tensorflow as tf

np.random.seed(1)
tf.random.set_seed(1)


def flip(image):
    if random.random() < 0.5:  #! TW101
        return image[:, ::-1]
    return image


images = np.zeros((16, 8, 8))
x = np.stack([flip(image) for image in images])
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse")
model.fit(x, np.zeros(16))

# %% a subset chosen at random, then trained on
import random

import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
everything = list(range(1000))
chosen = sorted(random.sample(everything, 100))  #! TW101
x = np.array(chosen, dtype="float32").reshape(-1, 1)
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(x, x)

# %% shuffled and then sorted again
import random

import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
names = ["b", "a", "c"]
random.shuffle(names)
names.sort()
x = np.array([len(name) for name in names], dtype="float32")
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(x, x)

# %% a split without random_state
import keras
import numpy as np
from sklearn.model_selection import train_test_split

keras_seeded = keras.utils.set_random_seed
x = np.arange(100.0).reshape(-1, 1)
x_train, x_test, y_train, y_test = train_test_split(x, x * 2, test_size=0.2)  #! TW106
keras_seeded(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x_train, y_train)

# %% a split with random_state
import keras
import numpy as np
from sklearn.model_selection import train_test_split

x = np.arange(100.0).reshape(-1, 1)
x_train, x_test, y_train, y_test = train_test_split(x, x * 2, test_size=0.2, random_state=0)
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x_train, y_train)

# %% pandas sampling
import keras
import pandas as pd
import tensorflow as tf

tf.random.set_seed(1)
df = pd.read_csv("data.csv")
df = df.dropna().sample(frac=1).reset_index(drop=True)  #! TW102
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(df[["a"]].values, df["b"].values)

# %% twinrun.pin seeds everything
import twinrun

twinrun.pin(42)

import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1), keras.layers.Dropout(0.2)])
model.compile("sgd", "mse")
model.fit(np.random.rand(8, 2), np.random.rand(8))

# %% seeded only when the user asks for it
import argparse
import random

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
args = parser.parse_args()
if args.seed is not None:
    keras.utils.set_random_seed(args.seed)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)))

# %% a seed that is drawn when none is given
import argparse
import random

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=None)
args = parser.parse_args()
if args.seed is None:
    args.seed = random.randint(0, 10_000)  #! TW101
keras.utils.set_random_seed(args.seed)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)))

# %% a seed with a default
import argparse
import random

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=42)
args = parser.parse_args()
seed = args.seed if args.seed is not None else random.randint(0, 10_000)
keras.utils.set_random_seed(seed)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 1)), np.ones((4, 1)))

# %% a model that is built and never trained
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])
print(model.predict(np.random.rand(4, 2)))

# %% a subclassed model with its own layers, unseeded
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(8)  #! TW105
        self.drop = keras.layers.Dropout(0.3)
        self.out = keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.out(self.drop(self.hidden(x), training=training))


np.random.seed(1)
net = Net()
net.compile("sgd", "mse")
net.fit(np.random.rand(8, 2), np.random.rand(8), shuffle=False)

# %% a custom layer that adds its weights
import keras
import numpy as np


class Linear(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))  #! TW105
        self.b = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, x):
        return x @ self.w + self.b


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.linear = Linear(1)

    def call(self, x):
        return self.linear(x)


net = Net()
net.compile("sgd", "mse")
net.fit(np.ones((8, 2)), np.ones(8), shuffle=False)

# %% the functional way, in a builder function
import keras
import numpy as np
from keras import layers


def block(x, units):
    x = layers.Dense(units, activation="relu")(x)  #! TW105
    return layers.Dropout(0.1)(x)


def build():
    inputs = keras.Input((4,))
    x = inputs
    for units in (16, 8):
        x = block(x, units)
    return keras.Model(inputs, layers.Dense(1)(x))


model = build()
model.compile("sgd", "mse")
model.fit(np.ones((8, 4)), np.ones(8), shuffle=False)

# %% keras.random without a seed, and with a seed generator
import keras
import numpy as np

gen = keras.random.SeedGenerator(3)
noise = keras.random.normal((8, 4))  #! TW105
fine = keras.random.normal((8, 4), seed=gen)
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(noise + fine, np.ones(8), shuffle=False)

# %% np.random.seed() without an argument unseeds
import keras
import numpy as np

keras.utils.set_random_seed(1)
np.random.seed()
x = np.random.rand(8, 2)  #! TW102
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% a library that seeds, which cannot be looked into
from lightning import seed_everything

import keras
import numpy as np

seed_everything(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(8, 2), np.ones(8))

# %% a decorator of the program's own that seeds
import functools

import keras
import numpy as np


def seeded(seed):
    def wrap(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            keras.utils.set_random_seed(seed)
            return function(*args, **kwargs)

        return inner

    return wrap


@seeded(4)
def train():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.random.rand(8, 2), np.ones(8))


train()

# %% weights drawn from NumPy's stream and set into the model
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="zeros")])
model.set_weights([np.random.rand(2, 1), np.zeros(1)])  #! TW102
model.compile("sgd", "mse")
model.fit(np.ones((8, 2)), np.ones(8), shuffle=False)
