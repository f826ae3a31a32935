import hashlib

import numpy as np
import tensorflow as tf

ROWS, COLUMNS = 4096, 384


class WideRegression:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.x = tf.constant(rng.normal(size=(ROWS, COLUMNS)).astype("float32"))
        self.y = tf.constant(rng.normal(size=(ROWS, 8)).astype("float32"))
        self.w = tf.Variable(rng.normal(0, 0.05, (COLUMNS, 8)).astype("float32"), name="w")
        self.b = tf.Variable(tf.zeros([8]), name="b")
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    @tf.function
    def step(self):
        with tf.GradientTape() as tape:
            residual = self.x @ self.w + self.b - self.y
            loss = tf.reduce_mean(tf.square(residual))
        variables = [self.w, self.b]
        grads, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), 0.5)
        self.optimizer.apply_gradients(zip(grads, variables))
        return loss, norm


regression = WideRegression(seed=30)
for number in range(20):
    loss, norm = regression.step()
    if number % 5 == 0:
        print(f"{number:3d} loss {loss.numpy():.6f} gradient norm {norm.numpy():.6f}")
print("checksum", hashlib.sha256(regression.w.numpy().tobytes()).hexdigest()[:32])
