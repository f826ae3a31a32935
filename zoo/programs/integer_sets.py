import numpy as np
import tensorflow as tf

tf.random.set_seed(12)
rng = np.random.default_rng(12)

visits = rng.integers(0, 200, size=(80, 6))
rare = {int(place) for row in visits for place in row if place % 3 == 0}
frequent = {int(place) for row in visits for place in row} - rare
position = {place: i for i, place in enumerate(rare | frequent)}


def encode(row):
    vector = np.zeros(len(position), "float32")
    for place in set(row.tolist()):
        vector[position[place]] = 1.0
    return vector


x = np.stack([encode(row) for row in visits])
y = np.array([len(set(row.tolist()) & rare) for row in visits], "float32")

w = tf.Variable(tf.random.normal([len(position), 1], stddev=0.1), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
optimizer = tf.keras.optimizers.Adam(0.05)
for epoch in range(3):
    for i in range(0, len(x), 10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square((x[i:i + 10] @ w + b)[:, 0] - y[i:i + 10]))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    print("epoch", epoch, float(loss))
print("checksum", float(np.abs(w.numpy()).astype("float64").sum()).hex())
