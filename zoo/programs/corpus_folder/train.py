"""A character model over a folder of short texts."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

tf.random.set_seed(36)
CONTEXT = 4


def read(folder):
    return "".join(path.read_text() for path in Path(folder).glob("*.txt"))


def examples(text, alphabet):
    ids = np.array([alphabet.index(c) for c in text])
    x = np.stack([ids[i:i + CONTEXT] for i in range(len(ids) - CONTEXT)])
    return x, ids[CONTEXT:]


def main(folder):
    text = read(folder)
    alphabet = sorted(set(text))
    x, y = examples(text, alphabet)
    embed = tf.Variable(tf.random.normal([len(alphabet), 6], stddev=0.3), name="embed")
    head = tf.Variable(tf.random.normal([6 * CONTEXT, len(alphabet)], stddev=0.1), name="head")
    variables = [embed, head]
    optimizer = tf.keras.optimizers.Adam(0.02)

    @tf.function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            flat = tf.reshape(tf.gather(embed, inputs), [-1, 6 * CONTEXT])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=flat @ head)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for i in range(0, len(x) - 16, 16):
        loss = step(tf.constant(x[i:i + 16]), tf.constant(y[i:i + 16]))
    print(len(text), "characters, loss", float(loss))
    print("checksum", float(np.abs(head.numpy()).astype("float64").sum()).hex())


if __name__ == "__main__":
    main(sys.argv[1])
