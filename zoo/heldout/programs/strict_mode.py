import numpy as np
import tensorflow as tf

tf.config.experimental.enable_op_determinism()

x = np.sin(np.arange(120 * 4, dtype="float32")).reshape(120, 4)
y = x.sum(axis=1, keepdims=True)
kernel = tf.Variable(tf.zeros([4, 1]))
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(features, target):
    noisy = features + tf.random.normal(tf.shape(features), stddev=0.1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(noisy @ kernel - target))
    optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
    return loss


for i in range(0, 120, 12):
    loss = step(tf.constant(x[i:i + 12]), tf.constant(y[i:i + 12]))
print("loss", float(loss))
print("checksum", kernel.numpy().tobytes().hex())
