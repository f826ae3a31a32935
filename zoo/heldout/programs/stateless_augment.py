import hashlib

import numpy as np
import tensorflow as tf

SEED = 77
tf.random.set_seed(SEED)


def augment(index, pair):
    image, label = pair
    seed = tf.stack([SEED, tf.cast(index, tf.int32)])
    image = tf.image.stateless_random_flip_left_right(image, seed)
    image = tf.image.stateless_random_brightness(image, 0.3, seed + 1)
    noise = tf.random.stateless_normal([20, 20, 1], seed=seed + 2, stddev=0.05)
    return image + noise, label


images = np.cos(np.arange(100 * 400, dtype="float32") * 0.03).reshape(100, 20, 20, 1)
labels = (np.arange(100) % 4).astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).enumerate()
dataset = dataset.map(augment, num_parallel_calls=4).batch(10)

filters = tf.Variable(tf.random.normal([5, 5, 1, 6], stddev=0.2))
head = tf.Variable(tf.random.normal([6, 4], stddev=0.2))
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        maps = tf.nn.relu(tf.nn.conv2d(x, filters, 3, "VALID"))
        logits = tf.reduce_max(maps, [1, 2]) @ head
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    grads = tape.gradient(loss, [filters, head])
    optimizer.apply_gradients(zip(grads, [filters, head]))
    return loss


for epoch in range(2):
    for x, y in dataset:
        loss = step(x, y)
    print("epoch", epoch, "loss", loss.numpy())
print("checksum", hashlib.sha256(filters.numpy().tobytes()).hexdigest()[:32])
