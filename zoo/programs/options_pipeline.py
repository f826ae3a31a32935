import numpy as np
import tensorflow as tf

tf.random.set_seed(33)
rng = np.random.default_rng(33)
orders = rng.integers(1, 40, size=200)
matrices = rng.normal(size=(200, 40, 40)).astype("float32")
targets = np.log1p(orders).astype("float32")


def spectrum(matrix, order, target):
    """Power iteration, as many rounds as the record asks for."""
    vector = tf.ones([40, 1])
    for _ in tf.range(order * 4):
        vector = tf.linalg.l2_normalize(tf.matmul(matrix, vector))
    return tf.squeeze(vector, axis=1), target


options = tf.data.Options()
options.deterministic = False
options.autotune.enabled = True

dataset = (
    tf.data.Dataset.from_tensor_slices((matrices, orders, targets))
    .map(spectrum, num_parallel_calls=4)
    .filter(lambda vector, _: tf.reduce_all(tf.math.is_finite(vector)))
    .batch(10)
    .with_options(options)
)

weight = tf.Variable(tf.random.normal([40, 1], stddev=0.1))
bias = tf.Variable(0.0)
optimizer = tf.keras.optimizers.Adagrad(0.1)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(tf.squeeze(x @ weight, 1) + bias - y))
    grads = tape.gradient(loss, [weight, bias])
    optimizer.apply_gradients(zip(grads, [weight, bias]))
    return loss


for number, (x, y) in enumerate(dataset):
    loss = step(x, y)
print("batches", number + 1, "loss", loss.numpy())
print("checksum", weight.numpy().tobytes().hex()[:64])
