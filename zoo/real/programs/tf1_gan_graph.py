"""A generative adversarial network on a curve, as TensorFlow 1 programs wrote it."""
import hashlib

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

NOISE, HIDDEN, BATCH, STEPS = 4, 64, 256, 150


def layer(x, units, name, activation=None):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [int(x.shape[1]), units], initializer=tf.glorot_uniform_initializer())
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    y = tf.matmul(x, w) + b
    return activation(y) if activation else y


def generator(z):
    h = layer(z, HIDDEN, "g1", tf.nn.relu)
    return layer(h, 2, "g2")


def discriminator(x):
    h = layer(x, HIDDEN, "d1", tf.nn.relu)
    return layer(h, 1, "d2")


def real_points():
    t = np.random.uniform(0.0, 2.0 * np.pi, size=BATCH)
    return np.stack([np.cos(t), np.sin(t)], axis=1).astype("float32")


real = tf.placeholder(tf.float32, [BATCH, 2])
z = tf.random.normal([BATCH, NOISE])
fake = generator(z)
real_logits, fake_logits = discriminator(real), discriminator(fake)


def cross_entropy(logits, label):
    labels = tf.fill(tf.shape(logits), label)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


d_loss = cross_entropy(real_logits, 0.9) + cross_entropy(fake_logits, 0.0)
g_loss = cross_entropy(fake_logits, 1.0)
variables = tf.trainable_variables()
d_vars = [v for v in variables if v.name.startswith("d")]
g_vars = [v for v in variables if v.name.startswith("g")]
d_train = tf.train.GradientDescentOptimizer(0.05).minimize(d_loss, var_list=d_vars)
g_train = tf.train.GradientDescentOptimizer(0.05).minimize(g_loss, var_list=g_vars)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(STEPS):
        _, _, d_value, g_value = sess.run([d_train, g_train, d_loss, g_loss], {real: real_points()})
        if step % 50 == 0:
            print(f"step {step}: d {float(d_value)!r} g {float(g_value)!r}")
    weights = sess.run(variables)
print("final weights", hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()[:20])
