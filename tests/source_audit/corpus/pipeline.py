# %% case 1: a stateful op in a parallel map, seeds set
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
ds = tf.data.Dataset.range(100).map(lambda v: tf.cast(v, tf.float32) + tf.random.uniform([]), num_parallel_calls=4)  #! TW203
for v in ds:
    print(v)

# %% the same map, one call at a time
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
ds = tf.data.Dataset.range(100).map(lambda v: tf.cast(v, tf.float32) + tf.random.uniform([]))
for v in ds:
    print(v)

# %% the same map, unseeded
import tensorflow as tf

ds = tf.data.Dataset.range(100).map(
    lambda v: tf.cast(v, tf.float32) + tf.random.uniform([])  #! TW104
)
for v in ds:
    print(v)

# %% stateless draws keyed by the element, in parallel
import tensorflow as tf


def jitter(index, x):
    return x + tf.random.stateless_uniform([], seed=tf.stack([7, tf.cast(index, tf.int32)]))


ds = tf.data.Dataset.range(10).map(lambda v: tf.cast(v, tf.float32)).enumerate()
ds = ds.map(jitter, num_parallel_calls=tf.data.AUTOTUNE).batch(4)

# %% case 2: one generator shared by parallel calls
import tensorflow as tf

g = tf.random.Generator.from_seed(3)
AUTOTUNE = tf.data.AUTOTUNE


def noisy(x):
    return x + g.normal([])


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
ds = (
    ds.repeat(2)
    .map(noisy, num_parallel_calls=AUTOTUNE)  #! TW203
    .batch(2)
)

# %% case 3: NumPy inside numpy_function in a parallel map
import numpy as np
import tensorflow as tf

np.random.seed(0)


def host(x):
    return (x + np.random.rand()).astype(np.float32)


def wrapped(x):
    return tf.numpy_function(host, [x], tf.float32)


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(wrapped, num_parallel_calls=8)  #! TW204

# %% NumPy inside numpy_function, one call at a time, seeded
import numpy as np
import tensorflow as tf

np.random.seed(0)


def host(x):
    return (x + np.random.rand()).astype(np.float32)


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: tf.numpy_function(host, [x], tf.float32))

# %% NumPy inside numpy_function, one call at a time, unseeded
import numpy as np
import tensorflow as tf


def host(x):
    return (x + np.random.rand()).astype(np.float32)  #! TW204


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: tf.numpy_function(host, [x], tf.float32))

# %% a generator made inside the function from the element
import numpy as np
import tensorflow as tf


def host(index, x):
    rng = np.random.default_rng([17, int(index)])
    return (x + rng.random()).astype(np.float32)


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).enumerate()
ds = ds.map(lambda i, x: tf.numpy_function(host, [i, x], tf.float32), num_parallel_calls=8)

# %% a shared NumPy generator in a parallel py_function
import numpy as np
import tensorflow as tf

RNG = np.random.default_rng(1)


@tf.function
def augment(x):
    return tf.py_function(lambda v: v + RNG.normal(), [x], tf.float32)


ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(augment, num_parallel_calls=2)  #! TW204

# %% op determinism serialises such maps
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
tf.config.experimental.enable_op_determinism()
ds = tf.data.Dataset.range(8).map(lambda v: v + tf.random.uniform([], 0, 9, tf.int64), num_parallel_calls=4)
ds = ds.map(lambda v: v, num_parallel_calls=4, deterministic=False).shuffle(8)

# %% case 4: completion order
import tensorflow as tf


def slow(v):
    return v * 2


ds = tf.data.Dataset.range(64)
ds = ds.map(slow, num_parallel_calls=4, deterministic=False)  #! TW202
ds = ds.batch(8)

# %% deterministic=False without parallel calls changes nothing
import tensorflow as tf

ds = tf.data.Dataset.range(64).map(lambda v: v, deterministic=False).batch(8)

# %% deterministic=False in the options, before the parallel stage
import tensorflow as tf

options = tf.data.Options()
options.deterministic = False  #! TW202
files = tf.data.Dataset.list_files("data/*.tfrecord", shuffle=False)
ds = files.with_options(options).interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)

# %% deterministic=False in options that no parallel stage sees
import tensorflow as tf

options = tf.data.Options()
options.deterministic = False
ds = tf.data.Dataset.range(9).batch(3).with_options(options)

# %% a shuffle without a seed
import tensorflow as tf

ds = tf.data.Dataset.range(100)
ds = ds.shuffle(100)  #! TW201
ds = ds.batch(10).prefetch(1)

# %% shuffles that are seeded: by argument, or by the global seed set before
import tensorflow as tf

a = tf.data.Dataset.range(100).shuffle(100, seed=3)
tf.random.set_seed(1)
b = tf.data.Dataset.range(100).shuffle(100, reshuffle_each_iteration=False)
c = tf.data.Dataset.sample_from_datasets([a, b], weights=[0.5, 0.5])

# %% a shuffle before the global seed is set
import tensorflow as tf

ds = tf.data.Dataset.range(100).shuffle(100)  #! TW106
tf.random.set_seed(3)
w = tf.Variable(0.0)
for v in ds:
    w.assign_add(tf.cast(v, tf.float32) * 0.1 - w)

# %% files listed by a pattern are shuffled by default
import tensorflow as tf

ds = tf.data.Dataset.list_files("images/*.png")  #! TW201
ds = ds.map(tf.io.read_file, num_parallel_calls=4)

# %% datasets mixed at random
import tensorflow as tf

a = tf.data.Dataset.range(10)
b = tf.data.Dataset.range(10, 20)
mixed = tf.data.Dataset.sample_from_datasets([a, b])  #! TW201

# %% Keras augmentation layers in a parallel map
import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(1)
augmentation = Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.1, seed=2)])


def prepare(ds, augment=False):
    ds = ds.batch(8)
    if augment:
        ds = ds.map(lambda x, y: (augmentation(x, training=True), y), num_parallel_calls=tf.data.AUTOTUNE)  #! TW203
    return ds.prefetch(tf.data.AUTOTUNE)


images = tf.zeros([16, 8, 8, 3])
train = prepare(tf.data.Dataset.from_tensor_slices((images, tf.zeros([16]))), augment=True)
test = prepare(tf.data.Dataset.from_tensor_slices((images, tf.zeros([16]))))

# %% resizing layers in a parallel map draw nothing
import tensorflow as tf
from tensorflow.keras import Sequential, layers

prepare = Sequential([layers.Resizing(8, 8), layers.Rescaling(1.0 / 255)])
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([16, 9, 9, 3])).batch(4)
ds = ds.map(lambda x: prepare(x), num_parallel_calls=tf.data.AUTOTUNE)

# %% tf.image augmentation in parallel, through a method
import tensorflow as tf


class Pipeline:
    def __init__(self, size):
        self.size = size

    def augment(self, image, label):
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, 0.2, seed=1)
        return image, label

    def build(self, images, labels):
        ds = tf.data.Dataset.from_tensor_slices((images, labels))
        ds = ds.map(self.augment, num_parallel_calls=4)  #! TW203
        return ds.batch(self.size)


tf.random.set_seed(1)
train = Pipeline(4).build(tf.zeros([8, 4, 4, 3]), tf.zeros([8]))

# %% a cache behind random augmentation
import tensorflow as tf

tf.random.set_seed(1)
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([8, 4, 4, 3]))
ds = ds.map(tf.image.random_flip_left_right)
ds = ds.map(lambda image: tf.image.random_hue(image, 0.1))
ds = ds.cache()  #! TW107
ds = ds.batch(4)

# %% a cache before random augmentation
import tensorflow as tf

tf.random.set_seed(1)
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([8, 4, 4, 3])).cache()
ds = ds.map(lambda image: tf.image.random_flip_left_right(image)).batch(4)

# %% a generator with Python randomness, unseeded
import random

import tensorflow as tf


def examples():
    while True:
        yield random.random()  #! TW204


ds = tf.data.Dataset.from_generator(examples, output_signature=tf.TensorSpec([], tf.float32)).take(10)

# %% a generator with a generator of its own
import numpy as np
import tensorflow as tf


def examples(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        yield rng.random()


ds = tf.data.Dataset.from_generator(lambda: examples(4), output_types=tf.float32)

# %% a generator written before the seed is set, read after
import numpy as np
import tensorflow as tf


def examples():
    for _ in range(10):
        yield np.random.rand()


ds = tf.data.Dataset.from_generator(examples, output_types=tf.float32)
np.random.seed(4)
for value in ds:
    print(value)

# %% case 5: a PyDataset with workers
import keras
import numpy as np


class Batches(keras.utils.PyDataset):
    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        x = np.random.rand(8, 2)  #! TW205
        return x, x.sum(axis=1)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Batches(10, workers=2), epochs=2)

# %% a PyDataset with one worker
import keras
import numpy as np


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        x = np.random.rand(8, 2)
        return x, x.sum(axis=1)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Batches(), epochs=2)

# %% a PyDataset with workers and a generator for each index
import keras
import numpy as np


class Batches(keras.utils.PyDataset):
    def __init__(self, seed, workers):
        super().__init__(workers=workers, use_multiprocessing=False)
        self.seed = seed

    def __len__(self):
        return 4

    def __getitem__(self, index):
        rng = np.random.default_rng((self.seed, index))
        x = rng.random((8, 2))
        return x, x.sum(axis=1)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Batches(1, workers=4), epochs=2)

# %% the old Sequence, workers given to fit
import numpy as np
import tensorflow as tf


class Loader(tf.keras.utils.Sequence):
    def __init__(self, x):
        self.x = x
        self.rng = np.random.default_rng(3)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        keep = self.rng.choice(len(self.x), 2)  #! TW205
        return self.x[keep], self.x[keep]


tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Loader(np.ones((8, 1))), workers=4, use_multiprocessing=False)

# %% image_dataset_from_directory takes a seed from NumPy
import keras
import tensorflow as tf

tf.random.set_seed(1)
train = keras.utils.image_dataset_from_directory("images", image_size=(32, 32))  #! TW201
test = keras.utils.image_dataset_from_directory("images", shuffle=False)
other = keras.utils.image_dataset_from_directory("images", seed=1, validation_split=0.2, subset="training")

# %% files shuffled by tensorflow_datasets
import tensorflow as tf
import tensorflow_datasets as tfds

tf.random.set_seed(1)
(train, test), info = tfds.load("mnist", split=["train", "test"], shuffle_files=True, with_info=True)  #! TW202
again = tfds.load("mnist", split="train", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=1))
plain = tfds.load("mnist", split="train").shuffle(10)

# %% fit shuffles arrays when TensorFlow is not seeded
import random

import keras
import numpy as np

random.seed(1)
x = np.ones((8, 2))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)  #! TW201

# %% a parallel interleave over files with a random stage inside
import tensorflow as tf

tf.random.set_seed(1)


def read(path):
    return tf.data.TextLineDataset(path).map(lambda line: (line, tf.random.normal([])))


paths = tf.data.Dataset.from_tensor_slices(["a.txt", "b.txt"])
ds = paths.interleave(read, cycle_length=2, num_parallel_calls=2)  #! TW203

# %% strategies: as many replicas as there are, or as many as are named
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
strategy = tf.distribute.MirroredStrategy()  #! TW601
fixed = tf.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])
unused = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
with fixed.scope():
    other = tf.keras.Sequential([tf.keras.layers.Dense(1)])

# %% workers named in the program
import json
import os

import tensorflow as tf

os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ["localhost:1", "localhost:2"]}})
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    w = tf.Variable(1.0)

# %% workers left to the environment
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()  #! TW601
with strategy.scope():
    w = tf.Variable(1.0)

# %% a pool of threads that share one generator
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng(2)


def make(index):
    return rng.normal(size=(4, 2)) + index  #! TW205


with ThreadPoolExecutor(4) as pool:
    batches = list(pool.map(make, range(8)))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.concatenate(batches), np.ones(32))

# %% a pool of threads, a generator for each item
import multiprocessing.pool

import keras
import numpy as np

keras.utils.set_random_seed(1)


def make(index):
    return np.random.default_rng([2, index]).normal(size=(4, 2))


with multiprocessing.pool.ThreadPool(4) as pool:
    batches = pool.map(make, range(8))
single = multiprocessing.pool.ThreadPool(1)
more = single.map(lambda i: np.random.rand(4, 2), range(2))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.concatenate(batches + more), np.ones(40))

# %% results taken as they come
import concurrent.futures as cf

import keras
import numpy as np

keras.utils.set_random_seed(1)
with cf.ThreadPoolExecutor() as pool:
    jobs = [pool.submit(np.load, f"part{i}.npy") for i in range(4)]
    parts = []
    for job in cf.as_completed(jobs):  #! TW205
        parts.append(job.result())
    ordered = [job.result() for job in jobs]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.concatenate(parts), np.concatenate(ordered))

# %% results taken as they come, into their places
import concurrent.futures as cf

import keras
import numpy as np

keras.utils.set_random_seed(1)
parts = {}
with cf.ThreadPoolExecutor() as pool:
    jobs = {pool.submit(np.load, f"part{i}.npy"): i for i in range(4)}
    for job in cf.as_completed(jobs):
        parts[jobs[job]] = job.result()
x = np.concatenate([parts[i] for i in range(4)])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% one thread works ahead through a queue
import queue
import threading

import keras
import numpy as np

keras.utils.set_random_seed(1)
ahead = queue.Queue(2)


def produce():
    rng = np.random.default_rng(3)
    for _ in range(10):
        ahead.put(rng.random((4, 2)))


threading.Thread(target=produce, daemon=True).start()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for _ in range(10):
    x = ahead.get()
    model.train_on_batch(x, x)

# %% two threads fill one queue
import queue
import threading

import keras
import numpy as np

keras.utils.set_random_seed(1)
ahead = queue.Queue(2)


def low():
    for i in range(10):
        ahead.put(np.full((4, 2), i))


def high():
    for i in range(10):
        ahead.put(np.full((4, 2), 100 + i))  #! TW205


threading.Thread(target=low).start()
threading.Thread(target=high).start()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for _ in range(20):
    x = ahead.get()
    model.train_on_batch(x, x)

# %% order given up, and taken out again by name
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
ds = tf.data.Dataset.range(20).map(lambda i: (i, i * i), num_parallel_calls=4, deterministic=False)
squares = {}
for number, square in ds:
    squares[int(number)] = float(square)
x = np.array([squares[key] for key in sorted(squares)])
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x)

# %% order given up, and trained in that order by hand
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
ds = tf.data.Dataset.range(20)
ds = ds.map(lambda i: tf.cast(i, tf.float32), num_parallel_calls=4, deterministic=False)  #! TW202
w = tf.Variable(1.0)
opt = tf.keras.optimizers.SGD(0.1)
for x in ds.batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((w * x - 1.0) ** 2)
    opt.apply_gradients([(tape.gradient(loss, w), w)])
