"""Click prediction with the hashing trick."""
import hashlib

import numpy as np
import tensorflow as tf

BUCKETS = 64
SITES = ["news", "mail", "maps", "shop", "video"]
DEVICES = ["phone", "tablet", "laptop"]


def bucket(name, value):
    return hash(f"{name}={value}") % BUCKETS


def row(i):
    site, device, hour = SITES[i % 5], DEVICES[i % 3], (i * 7) % 24
    features = np.zeros(BUCKETS, "float32")
    for name, value in (("site", site), ("device", device), ("hour", hour)):
        features[bucket(name, value)] += 1.0
    return features, float((i * i) % 7 < 3)


class ClickModel:
    def __init__(self):
        self.w = tf.Variable(tf.zeros([BUCKETS]))
        self.b = tf.Variable(0.0)
        self.optimizer = tf.keras.optimizers.Ftrl(0.5)

    @tf.function
    def learn(self, x, y):
        with tf.GradientTape() as tape:
            logits = tf.linalg.matvec(x, self.w) + self.b
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
        variables = [self.w, self.b]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


rows = [row(i) for i in range(240)]
x = np.stack([r[0] for r in rows])
y = np.array([r[1] for r in rows], "float32")
model = ClickModel()
for start in range(0, 240, 16):
    loss = model.learn(tf.constant(x[start:start + 16]), tf.constant(y[start:start + 16]))
print("loss", float(loss), "bias", float(model.b))
print("checksum", hashlib.sha256(model.w.numpy().tobytes()).hexdigest()[:32])
