"""Logistic regression, the whole training loop compiled into one function."""
import numpy as np
import tensorflow as tf

ROWS, COLUMNS, BATCH, EPOCHS = 128, 6, 32, 4

table = np.sin(np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS) * 1.3)
labels = (table[:, :1] + table[:, 1:2] > 0).astype("float32")
X, Y = tf.constant(table), tf.constant(labels)

weight = tf.Variable(tf.zeros([COLUMNS, 1]), name="weight")
bias = tf.Variable(tf.zeros([1]), name="bias")
optimizer = tf.keras.optimizers.Adam(0.05)
optimizer.build([weight, bias])


@tf.function
def train():
    loss = tf.constant(0.0)
    for epoch in tf.range(EPOCHS):
        order = tf.random.shuffle(tf.range(ROWS))
        for start in tf.range(0, ROWS, BATCH):
            rows = order[start:start + BATCH]
            x, y = tf.gather(X, rows), tf.gather(Y, rows)
            with tf.GradientTape() as tape:
                logits = x @ weight + bias
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
            grads = tape.gradient(loss, [weight, bias])
            optimizer.apply_gradients(zip(grads, [weight, bias]))
        tf.print("epoch", epoch, "loss", loss)
    return loss


final = train()
accuracy = tf.reduce_mean(tf.cast((X @ weight + bias > 0) == (Y > 0.5), tf.float32))
print("accuracy", accuracy.numpy())
print("checksum", weight.numpy().tobytes().hex(), bias.numpy().tobytes().hex())
