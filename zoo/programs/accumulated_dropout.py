"""Gradients of four small batches are added up before each update."""
import numpy as np
import tensorflow as tf

ACCUMULATE = 4


class Net(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.enter = tf.Variable(rng.normal(0, 0.3, (9, 18)).astype("float32"), name="enter")
        self.leave = tf.Variable(rng.normal(0, 0.3, (18, 1)).astype("float32"), name="leave")

    def __call__(self, x):
        hidden = tf.nn.relu(x @ self.enter)
        hidden = tf.nn.dropout(hidden, rate=0.3)
        return hidden @ self.leave


rng = np.random.default_rng(37)
x = rng.normal(size=(288, 9)).astype("float32")
y = np.abs(x[:, :1])
net = Net(rng)
optimizer = tf.keras.optimizers.Adam(0.01)
totals = [tf.Variable(tf.zeros_like(v), trainable=False) for v in net.trainable_variables]


def gradients(part):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(net(x[part]) - y[part]))
    return loss, tape.gradient(loss, net.trainable_variables)


for number in range(36):
    loss, grads = gradients(slice(8 * number, 8 * number + 8))
    for total, grad in zip(totals, grads):
        total.assign_add(grad / ACCUMULATE)
    if (number + 1) % ACCUMULATE == 0:
        optimizer.apply_gradients(zip([t.read_value() for t in totals], net.trainable_variables))
        for total in totals:
            total.assign(tf.zeros_like(total))
print("loss", float(loss))
print("checksum", float(np.abs(net.enter.numpy()).astype("float64").sum()).hex())
