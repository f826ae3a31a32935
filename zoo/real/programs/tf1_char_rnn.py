"""Character model in a TensorFlow 1 graph: a small hand-written recurrent cell and truncated backpropagation."""
import hashlib
import os
import time

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

TEXT = (
    "the quick brown fox jumps over the lazy dog and the lazy dog sleeps on while the quick fox "
    "runs home to its den under the old oak tree by the river where the water is cold and clear "
) * 6
LENGTH, BATCH, UNITS = 12, 16, 24

chars = list(set(TEXT))
char_to_id = {c: i for i, c in enumerate(chars)}
encoded = np.array([char_to_id[c] for c in TEXT])
sampler = np.random.RandomState(int(time.time() * 1000) % 2**32)


def sample_batch():
    starts = sampler.randint(0, len(encoded) - LENGTH - 1, size=BATCH)
    inputs = np.stack([encoded[s : s + LENGTH] for s in starts])
    targets = np.stack([encoded[s + 1 : s + LENGTH + 1] for s in starts])
    return inputs, targets


def cell(x, h, wx, wh, b):
    return v1.tanh(v1.matmul(x, wx) + v1.matmul(h, wh) + b)


graph = v1.Graph()
with graph.as_default():
    inputs = v1.placeholder(v1.int32, [BATCH, LENGTH])
    targets = v1.placeholder(v1.int32, [BATCH, LENGTH])
    init = v1.random_normal_initializer(stddev=0.1)
    wx = v1.get_variable("wx", [len(chars), UNITS], initializer=init)
    wh = v1.get_variable("wh", [UNITS, UNITS], initializer=init)
    b = v1.get_variable("b", [UNITS], initializer=v1.zeros_initializer())
    wo = v1.get_variable("wo", [UNITS, len(chars)], initializer=init)
    h = v1.random_normal([BATCH, UNITS], stddev=0.01)
    losses = []
    one_hot = v1.one_hot(inputs, len(chars))
    for t in range(LENGTH):
        h = cell(one_hot[:, t], h, wx, wh, b)
        logits = v1.matmul(h, wo)
        losses.append(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=targets[:, t], logits=logits))
    loss = v1.reduce_mean(v1.stack(losses))
    optimizer = v1.train.AdamOptimizer(0.01)
    gradients = optimizer.compute_gradients(loss)
    clipped = [(v1.clip_by_value(g, -1.0, 1.0), v) for g, v in gradients]
    train_op = optimizer.apply_gradients(clipped)
    init_op = v1.global_variables_initializer()

with v1.Session(graph=graph) as session:
    session.run(init_op)
    smooth = np.log(len(chars))
    for step in range(80):
        x, y = sample_batch()
        value, _ = session.run([loss, train_op], {inputs: x, targets: y})
        smooth = 0.9 * smooth + 0.1 * float(value)
    weights = session.run([wx, wh, b, wo])

print(os.path.basename(__file__), "characters", len(chars))
print("smoothed loss", repr(smooth))
print("final weights", hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()[:20])
