"""Embeddings of a small social graph, trained on walks along friendships."""
import numpy as np
import tensorflow as tf

PEOPLE = ["ada", "ben", "cleo", "dan", "eve", "finn", "gus", "hana", "ivo", "jun"]
FRIENDS = {
    person: {PEOPLE[(i + step) % len(PEOPLE)] for step in (1, 2, 5, 7)} for i, person in enumerate(PEOPLE)
}
INDEX = {person: i for i, person in enumerate(PEOPLE)}


def pairs():
    for user in PEOPLE:
        for friend in FRIENDS[user]:
            yield INDEX[user], INDEX[friend]


def batches(size):
    edges = list(pairs())
    for i in range(0, len(edges), size):
        yield np.array(edges[i:i + size])


table = tf.Variable(np.random.default_rng(2).normal(0, 0.3, (len(PEOPLE), 6)).astype("float32"))
optimizer = tf.keras.optimizers.Adam(0.05)

for epoch in range(3):
    for edge in batches(5):
        with tf.GradientTape() as tape:
            left, right = tf.gather(table, edge[:, 0]), tf.gather(table, edge[:, 1])
            scores = left @ tf.transpose(table)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=edge[:, 1], logits=scores)
            ) + 0.01 * tf.reduce_mean(tf.square(right))
        grad = tape.gradient(loss, table)
        optimizer.apply_gradients([(grad, table)])
    print("epoch", epoch, float(loss))

print("checksum", float(np.abs(table.numpy()).astype("float64").sum()).hex())
