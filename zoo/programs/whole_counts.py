"""Class balance from vote counts: whole numbers, kept as floats."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(46)
CLASSES = 8


class VoteBalance(keras.layers.Layer):
    def call(self, inputs):
        labels, votes = inputs
        flat = tf.cast(tf.reshape(labels, [-1]), tf.int32)
        totals = tf.math.bincount(flat, weights=tf.reshape(votes, [-1]), minlength=CLASSES, maxlength=CLASSES)
        return tf.gather(totals / tf.reduce_max(totals), tf.cast(labels, tf.int32))


labels = np.random.randint(0, CLASSES, (48, 60_000)).astype("float32")
votes = np.random.randint(0, 4, (48, 60_000)).astype("float32")
target = (labels[:, :50].mean(axis=1) > 3.5).astype("float32")

marks = keras.Input((60_000,))
weights = keras.Input((60_000,))
balanced = VoteBalance()([marks, weights])
pooled = keras.layers.Lambda(lambda t: t[:, :64])(balanced)
outputs = keras.layers.Dense(1, activation="sigmoid")(pooled)
model = keras.Model([marks, weights], outputs)
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit([labels, votes], target, batch_size=12, epochs=5, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
