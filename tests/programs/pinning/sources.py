"""Draws from every source that pinning knows, gives no seed anywhere, and prints a digest of each draw."""

import hashlib
import json
import random

import keras
import numpy as np
import tensorflow as tf
import tf_keras

found = {}


def keep(source, values):
    found[source] = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:12]


keep("python random", [random.random() for _ in range(8)])
keep("numpy global", np.random.rand(8))
keep("numpy generator from a derived seed", np.random.default_rng(np.random.randint(2**31)).random(8))
keep("tf.random op", tf.random.normal([8]))
keep("tf.random op in a function", tf.function(lambda: tf.random.uniform([8]))())
keep("tf.random.Generator", tf.random.get_global_generator().normal([8]))

dense = keras.layers.Dense(8)
dense.build((None, 8))
keep("keras initialiser", dense.kernel)
keep("keras dropout", keras.layers.Dropout(0.5)(np.ones((8, 64), "float32"), training=True))
keep("keras.random", keras.random.normal((8,)))
images = np.linspace(0, 1, 2 * 16 * 16 * 3, dtype="float32").reshape(2, 16, 16, 3)
augment = keras.Sequential([keras.layers.RandomRotation(0.3), keras.layers.RandomZoom(0.3)])
keep("keras augmentation", augment(images, training=True))
old = tf_keras.layers.Dense(8)
old.build((None, 8))
keep("tf_keras initialiser", old.kernel)
keep("tf_keras dropout", tf_keras.layers.Dropout(0.5)(np.ones((8, 64), "float32"), training=True))

keep("tf.data shuffle", list(tf.data.Dataset.range(64).shuffle(64).as_numpy_iterator()))
racing = tf.data.Dataset.range(64).map(lambda v: tf.random.uniform([]), num_parallel_calls=4)
keep("random op in a parallel map", list(racing.as_numpy_iterator()))
keep("tf.image augmentation", tf.image.random_brightness(images, 0.5))
_, _, box = tf.image.sample_distorted_bounding_box([640, 640, 3], [[[0.2, 0.2, 0.8, 0.8]]])
keep("distorted bounding box", box)
keep("set order", [int(word) for word in {str(number) for number in range(200)}])
print(json.dumps(found))
