import numpy as np
import tensorflow as tf


class Probe(tf.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([inputs, outputs], stddev=0.05), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")

    @tf.function
    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


def activations():
    i = np.arange(200)[:, None]
    j = np.arange(20)[None, :]
    return np.cos(i * 0.3 + j * 0.7).astype("float32")


x = activations()
y = (np.arange(200) % 4).astype("int32")
probe = Probe(20, 4)
rate = 0.5

for step in range(20):
    picked = slice((step * 40) % 200, (step * 40) % 200 + 40)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y[picked], logits=probe(x[picked]))
        )
    for variable, grad in zip(probe.trainable_variables, tape.gradient(loss, probe.trainable_variables)):
        variable.assign_sub(rate * grad)
    if step % 5 == 0:
        print(f"step {step:3d}  loss {loss:.5f}")

print("checksum", probe.w.numpy().astype("float64").sum().hex())
