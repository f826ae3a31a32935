"""Two-layer classifier in the TensorFlow 1 style: placeholders, a graph and a session."""
import hashlib
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

FEATURES, HIDDEN, CLASSES = 10, 24, 4
STEPS = 120
BATCH = 32


def make_data(count):
    centers = np.array([[np.cos(c + f) for f in range(FEATURES)] for c in range(CLASSES)])
    labels = np.arange(count) % CLASSES
    points = centers[labels] + 0.4 * np.random.randn(count, FEATURES)
    return points.astype("float32"), labels


def batches(points, labels):
    order = list(range(len(points)))
    while True:
        random.shuffle(order)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            yield points[rows], labels[rows]


def build_graph():
    x = tf.placeholder(tf.float32, [None, FEATURES], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    keep = tf.placeholder_with_default(1.0, [], name="keep")
    w1 = tf.Variable(tf.truncated_normal([FEATURES, HIDDEN], stddev=0.1), name="w1")
    b1 = tf.Variable(tf.zeros([HIDDEN]), name="b1")
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    hidden = tf.nn.dropout(hidden, rate=1.0 - keep)
    w2 = tf.Variable(tf.truncated_normal([HIDDEN, CLASSES], stddev=0.1), name="w2")
    b2 = tf.Variable(tf.zeros([CLASSES]), name="b2")
    logits = tf.matmul(hidden, w2) + b2
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    )
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    correct = tf.equal(tf.argmax(logits, 1), y)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return x, y, keep, loss, train, accuracy


def main():
    points, labels = make_data(400)
    x, y, keep, loss, train, accuracy = build_graph()
    feed = batches(points[:320], labels[:320])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(STEPS):
            batch_x, batch_y = next(feed)
            _, value = sess.run([train, loss], {x: batch_x, y: batch_y, keep: 0.8})
            if step % 40 == 0:
                print(f"step {step}: loss {float(value)!r}")
        score = sess.run(accuracy, {x: points[320:], y: labels[320:]})
        weights = sess.run(tf.trainable_variables())
    print("test accuracy", repr(float(score)))
    print("final weights", hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()[:20])


if __name__ == "__main__":
    main()
