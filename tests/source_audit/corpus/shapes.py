# %% a replay buffer sampled at random
import random
from collections import deque

import keras
import numpy as np
import tensorflow as tf

np.random.seed(0)
tf.random.set_seed(0)


class Buffer:
    def __init__(self, size):
        self.items = deque(maxlen=size)

    def add(self, item):
        self.items.append(item)

    def sample(self, n):
        return random.sample(self.items, n)  #! TW101


class Agent:
    def __init__(self, buffer):
        self.buffer = buffer
        self.net = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="zeros")])
        self.optimizer = keras.optimizers.Adam(1e-3)

    def learn(self):
        states, rewards = zip(*self.buffer.sample(4))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.net(np.array(states)) - np.array(rewards)) ** 2)
        weights = self.net.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


agent = Agent(Buffer(100))
for i in range(50):
    agent.buffer.add((np.ones(2) * i, float(i)))
    if i > 8:
        agent.learn()

# %% indices shuffled anew each epoch by a generator function
import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(0)


def batches(x, y, size, epochs):
    index = np.arange(len(x))
    for _ in range(epochs):
        np.random.shuffle(index)  #! TW102
        for start in range(0, len(x), size):
            part = index[start : start + size]
            yield x[part], y[part]


x = np.ones((32, 2))
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(batches(x, x[:, :1], 8, 3), steps_per_epoch=4, epochs=3)

# %% the same generator function, seeded after it is made and before it is read
import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(0)


def batches(x, size):
    index = np.arange(len(x))
    np.random.shuffle(index)
    for start in range(0, len(x), size):
        yield x[index[start : start + size]], x[:size, 0]


source = batches(np.ones((32, 2)), 8)
np.random.seed(1)
model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile("sgd", "mse")
model.fit(source)

# %% inheritance, properties and partial application
import functools
import random

import tensorflow as tf


class Base:
    def prepare(self, values):
        return self.arrange(list(values))

    def arrange(self, values):
        raise NotImplementedError


class Shuffled(Base):
    @property
    def rng(self):
        return random

    def arrange(self, values):
        self.rng.shuffle(values)  #! TW101
        return values


def scaled(x, by):
    return x * by


values = Shuffled().prepare(range(10))
ds = tf.data.Dataset.from_tensor_slices(values).map(functools.partial(scaled, by=2), num_parallel_calls=4)

# %% a dataclass whose field is drawn
import dataclasses
import random

import keras
import numpy as np


@dataclasses.dataclass
class Settings:
    rate: float
    units: int = 4


keras.utils.set_random_seed(1)
good = Settings(0.1)
model = keras.Sequential([keras.layers.Dense(good.units)])
model.compile(keras.optimizers.SGD(learning_rate=good.rate), "mse")
rng = random.Random()  #! TW103
drawn = Settings(rate=10 ** rng.uniform(-4, -1), units=4)
other = keras.optimizers.SGD(learning_rate=drawn.rate)
model.fit(np.ones((4, 2)), np.ones((4, 4)))

# %% generators seeded later, or through a bit generator
import random

import numpy as np
import tensorflow as tf

one = random.Random()
one.seed(3)
two = np.random.Generator(np.random.PCG64(5))
three = np.random.default_rng(np.random.SeedSequence(7).spawn(2)[0])
four = np.random.RandomState()
four.seed(1)
values = [one.random(), two.random(), three.random(), four.rand()]
ds = tf.data.Dataset.from_tensor_slices(values)

# %% generators without a seed in other ways
import numpy as np
import tensorflow as tf

two = np.random.Generator(np.random.PCG64())  #! TW103
three = np.random.default_rng(np.random.SeedSequence())  #! TW103
four = np.random.RandomState(seed=None)  #! TW103
five = tf.random.get_global_generator()  #! TW103
values = [two.random(), three.random(), four.rand(), five.normal([])]
ds = tf.data.Dataset.from_tensor_slices(values)

# %% a global TensorFlow generator that was set
import tensorflow as tf

tf.random.set_global_generator(tf.random.Generator.from_seed(3))
ds = tf.data.Dataset.from_tensor_slices(tf.random.get_global_generator().normal([4]))

# %% order given up in an interleave, and by an older option
import tensorflow as tf

files = tf.data.Dataset.from_tensor_slices(["a", "b"])
one = files.interleave(  #! TW202
    tf.data.TFRecordDataset,
    cycle_length=2,
    num_parallel_calls=tf.data.experimental.AUTOTUNE,
    deterministic=False,
)
options = tf.data.Options()
options.experimental_deterministic = False  #! TW202
two = files.map(lambda f: f, num_parallel_calls=2).with_options(options)
ordered = tf.data.Options()
ordered.deterministic = True
three = files.map(lambda f: f, num_parallel_calls=2).with_options(ordered)

# %% a random stage that is not parallel beside one that is
import tensorflow as tf

tf.random.set_seed(1)
g = tf.random.Generator.from_seed(1)
ds = tf.data.Dataset.range(8).map(lambda v: v + g.uniform([], 0, 5, tf.int64))
ds = ds.map(lambda v: v + tf.random.uniform([], 0, 5, tf.int64), num_parallel_calls=1)
ds = ds.map(lambda v: v * 2, num_parallel_calls=8).batch(2, num_parallel_calls=2).prefetch(2)

# %% a helper that maps in parallel whatever it is given
import tensorflow as tf

tf.random.set_seed(1)


def flip(image):
    return tf.image.random_flip_up_down(image)


def double(image):
    return image * 2


def apply_all(ds, functions):
    for function in functions:
        ds = ds.map(function, num_parallel_calls=tf.data.AUTOTUNE)  #! TW203
    return ds


ds = apply_all(tf.data.Dataset.from_tensor_slices(tf.zeros([4, 2, 2, 1])), [double, flip])

# %% a layer of one's own in a parallel map
import keras
import tensorflow as tf


class Jitter(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(3)

    def call(self, x):
        return x + keras.random.normal(tf.shape(x), seed=self.seeds)


keras.utils.set_random_seed(1)
jitter = Jitter()
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([4, 2])).batch(2)
ds = ds.map(lambda x: jitter(x), num_parallel_calls=2)  #! TW203

# %% Keras layers wrapped, functional, and in a list
import keras
import numpy as np
from keras import layers

np.random.seed(1)
inputs = keras.Input((5, 3))
x = layers.Bidirectional(layers.LSTM(4))(inputs)  #! TW105
for layer in [layers.LayerNormalization(), layers.Dropout(0.0), layers.ReLU()]:
    x = layer(x)
outputs = layers.Dense(1, kernel_initializer=keras.initializers.Constant(0.1))(x)
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse")
model.fit(np.ones((4, 5, 3)), np.ones(4), shuffle=False)

# %% layers without random weights need no seed
import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [
        keras.Input((4, 4, 1)),
        layers.Rescaling(1 / 255),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(1, kernel_initializer="zeros"),
        layers.Dropout(0.5, seed=1),
    ]
)
model.compile("sgd", "mse")
model.fit(np.ones((4, 4, 4, 1)), np.ones(4), shuffle=False)

# %% pretrained weights, and none
import keras
import numpy as np

known = keras.applications.MobileNetV2(weights="imagenet")
blank = keras.applications.ResNet50(weights=None)  #! TW105
for model in (known, blank):
    model.compile("sgd", "mse")
    model.fit(np.ones((2, 224, 224, 3)), np.ones((2, 1000)), shuffle=False)

# %% a vocabulary of characters, counted up by hand in a loop over a set
import keras
import numpy as np

keras.utils.set_random_seed(1)
text = "hello world"
number = 0
table = {}
for char in set(text):  #! TW301
    table[char] = number
    number += 1
x = np.array([[table[c]] for c in text])
model = keras.Sequential([keras.layers.Embedding(20, 2), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, np.ones(len(text)))

# %% a set split into train and test
import keras
import numpy as np

keras.utils.set_random_seed(1)
users = {"anna", "bert", "carl", "dora"}
test = set(list(users)[:1])  #! TW301
train = users - test
x = np.array([[ord(u[0])] for u in sorted(train)])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% sums and sizes over a set, and a set of tuples of numbers
import keras
import numpy as np

keras.utils.set_random_seed(1)
names = {"anna", "bert"}
total = sum(len(n) for n in names)
longest = max(names, key=len)
pairs = {(i, j) for i in range(3) for j in range(3)}
grid = np.array([[i + j] for i, j in pairs], dtype=float)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(grid / total, np.ones(9), batch_size=len(names) + len(longest))

# %% a loop that stops at a name it looks for
import os

import keras
import numpy as np

keras.utils.set_random_seed(1)
found = None
for name in os.listdir("data"):
    if name == "train.npy":
        found = True
x = np.load("data/train.npy") if found else np.ones((4, 2))
sizes = {name: os.path.getsize(name) for name in os.listdir("data")}
count = sum(sizes.values())
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x / count, x)

# %% the whole of a project in one module, run as a script with subcommands
import argparse
import random

import keras
import numpy as np


def train(args):
    keras.utils.set_random_seed(args.seed)
    model = keras.Sequential([keras.layers.Dense(args.units)])
    model.compile("sgd", "mse")
    model.fit(np.random.rand(8, 2), np.random.rand(8, args.units))


def demo(args):
    print(random.choice(["a", "b"]))


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    one = commands.add_parser("train")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--units", type=int, default=4)
    one.set_defaults(function=train)
    two = commands.add_parser("demo")
    two.set_defaults(function=demo)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
