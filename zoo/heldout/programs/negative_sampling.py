import random

import numpy as np
import tensorflow as tf

np.random.seed(3)
tf.random.set_seed(3)

N_USERS, N_ITEMS, DIM = 40, 60, 8


def make_interactions():
    users = np.repeat(np.arange(N_USERS), 4)
    items = (users * 7 + np.tile(np.arange(4), N_USERS) * 3) % N_ITEMS
    return list(zip(users.tolist(), items.tolist()))


def sample_batch(pairs, seen, start, size):
    users, positive, negative = [], [], []
    for user, item in pairs[start:start + size]:
        other = random.randrange(N_ITEMS)
        while other in seen[user]:
            other = random.randrange(N_ITEMS)
        users.append(user)
        positive.append(item)
        negative.append(other)
    return tf.constant(users), tf.constant(positive), tf.constant(negative)


pairs = make_interactions()
seen = {}
for user, item in pairs:
    seen.setdefault(user, set()).add(item)

user_table = tf.Variable(tf.random.normal([N_USERS, DIM], stddev=0.1), name="user_table")
item_table = tf.Variable(tf.random.normal([N_ITEMS, DIM], stddev=0.1), name="item_table")
optimizer = tf.keras.optimizers.Adam(0.05)


@tf.function
def step(users, positive, negative):
    with tf.GradientTape() as tape:
        u = tf.gather(user_table, users)
        gap = tf.reduce_sum(u * (tf.gather(item_table, positive) - tf.gather(item_table, negative)), axis=1)
        loss = -tf.reduce_mean(tf.math.log_sigmoid(gap))
    variables = [user_table, item_table]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for epoch in range(2):
    for start in range(0, len(pairs), 16):
        loss = step(*sample_batch(pairs, seen, start, 16))
    print(f"epoch {epoch}: loss {loss.numpy():.4f}")
print("checksum", float(np.abs(item_table.numpy()).sum(dtype=np.float64)).hex())
