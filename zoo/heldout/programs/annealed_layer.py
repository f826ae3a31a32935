import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(39)


class Annealed(keras.layers.Layer):
    """A gate that opens over the first minute of training."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.born = tf.timestamp()

    def call(self, x, training=False):
        if not training:
            return x
        age = tf.cast(tf.timestamp() - self.born, tf.float32)
        return x * tf.minimum(1.0, 0.2 + age / self.seconds)


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.layers.Dense(8, activation="relu")
        self.gate = Annealed(60.0)
        self.head = keras.layers.Dense(2)

    def call(self, x, training=False):
        return self.head(self.gate(self.body(x), training=training))


x = np.cos(np.arange(160 * 4, dtype="float32")).reshape(160, 4)
y = (np.arange(160) % 2).astype("int32")
net = Net()
net.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = net.fit(x, y, batch_size=20, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in net.get_weights())).hex())
