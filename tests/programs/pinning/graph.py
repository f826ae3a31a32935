"""A graph of TensorFlow 1 that seeds nothing: weights, dropout and a queue draw, and a session trains it."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
rows = np.arange(64, dtype="float32").reshape(16, 4) / 64
x = tf.placeholder(tf.float32, [None, 4])
queue = tf.RandomShuffleQueue(16, 0, [tf.float32], shapes=[[4]])
fill = queue.enqueue_many([rows])
inner = tf.get_variable("inner", [4, 8], initializer=tf.random_normal_initializer())
outer = tf.Variable(tf.truncated_normal([8, 1]))
hidden = tf.nn.dropout(tf.nn.relu((x + queue.dequeue_many(4)) @ inner), rate=0.3)
loss = tf.reduce_mean((hidden @ outer - 1.0) ** 2)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), fill])
    for _ in range(4):
        session.run([train, loss], {x: rows[:4]})
