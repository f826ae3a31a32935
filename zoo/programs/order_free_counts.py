"""Count how often each symbol occurs in files read in any order, then train on the counts."""
import numpy as np
import tensorflow as tf

tf.random.set_seed(18)
SYMBOLS = 24


def tally(seed):
    draws = tf.random.stateless_uniform([200 + 400 * (seed % 5)], [18, seed], 0, SYMBOLS, tf.int32)
    return seed, tf.math.bincount(draws, minlength=SYMBOLS, maxlength=SYMBOLS)


seeds = tf.data.Dataset.range(60).map(lambda i: tf.cast(i, tf.int32))
tallies = seeds.map(tally, num_parallel_calls=4, deterministic=False)

total = np.zeros(SYMBOLS, "int64")
rows = {}
for seed, counts in tallies:
    total += counts.numpy()
    rows[int(seed)] = counts.numpy()
x = np.array([rows[seed] for seed in sorted(rows)], "float32") / total.astype("float32")
y = x[:, :1] - x[:, 1:2]

kernel = tf.Variable(tf.random.normal([SYMBOLS, 1], stddev=0.1))
optimizer = tf.keras.optimizers.Adam(0.05)
for step in range(24):
    part = slice(step % 6 * 10, step % 6 * 10 + 10)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x[part] @ kernel - y[part]))
    optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
print("loss", float(loss))
print("checksum", kernel.numpy().tobytes().hex()[:64])
