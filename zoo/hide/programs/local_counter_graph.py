"""A TensorFlow 1 graph whose running statistics live in local variables."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(3)
rng = np.random.RandomState(3)
x_data = rng.normal(size=(300, 4)).astype("float32")
y_data = x_data @ np.array([1.0, -2.0, 0.5, 0.0], "float32")

x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None])
w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w) - y))
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

stream = tf.placeholder(tf.float32, [None])
center = tf.get_variable("center", [], initializer=tf.zeros_initializer(), trainable=False,
                         collections=[tf.GraphKeys.LOCAL_VARIABLES])
track = tf.assign(center, 0.9 * center + 0.1 * tf.reduce_mean(stream))

with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for step in range(60):
        rows = rng.randint(0, 300, size=32)
        value, _ = sess.run([loss, train], {x: x_data[rows], y: y_data[rows]})
    fresh = np.random.RandomState()
    for step in range(20):
        rows = fresh.randint(0, 300, size=16)
        sess.run(track, {stream: y_data[rows]})
    print("loss", repr(float(value)), "weights", sess.run(w).tolist())
    print("running center", repr(float(sess.run(center))))
