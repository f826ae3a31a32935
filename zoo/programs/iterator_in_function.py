import numpy as np
import tensorflow as tf


def spiral(n):
    t = np.linspace(0.2, 3.0, n // 2)
    arms = [np.stack([t * np.cos(4 * t + k * np.pi), t * np.sin(4 * t + k * np.pi)], axis=1) for k in (0, 1)]
    return np.concatenate(arms).astype("float32"), np.repeat([0.0, 1.0], n // 2).astype("float32")


class TwoLayers(tf.Module):
    def __init__(self, width):
        super().__init__()
        rng = np.random.default_rng(21)
        self.w1 = tf.Variable(rng.normal(0, 0.5, (2, width)), dtype=tf.float32, name="w1")
        self.b1 = tf.Variable(tf.zeros([width]), name="b1")
        self.w2 = tf.Variable(rng.normal(0, 0.5, (width, 1)), dtype=tf.float32, name="w2")

    def __call__(self, x):
        return tf.squeeze(tf.tanh(x @ self.w1 + self.b1) @ self.w2, axis=1)


x, y = spiral(160)
dataset = tf.data.Dataset.from_tensor_slices((x, y))
dataset = dataset.shuffle(buffer_size=len(x), reshuffle_each_iteration=True).repeat().batch(16)
net = TwoLayers(12)
optimizer = tf.keras.optimizers.Adam(0.02)
optimizer.build(net.trainable_variables)


@tf.function
def train(iterator, steps):
    last = tf.constant(0.0)
    for _ in tf.range(steps):
        features, labels = next(iterator)
        with tf.GradientTape() as tape:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=net(features))
            last = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(last, net.trainable_variables), net.trainable_variables))
    return last


iterator = iter(dataset)
for round_number in range(3):
    print("round", round_number, "loss", train(iterator, tf.constant(8)).numpy())
print("checksum", net.w1.numpy().tobytes().hex()[:64])
