import keras
import numpy as np
import tensorflow as tf

tf.random.set_seed(9)
rng = np.random.default_rng(9)
x = rng.normal(size=(192, 10)).astype("float32")
y = (x[:, :2].prod(axis=1) > 0).astype("float32")[:, None]


def dense(units, seed, **kwargs):
    return keras.layers.Dense(units, kernel_initializer=keras.initializers.GlorotNormal(seed=seed), **kwargs)


class Regularised(keras.Model):
    def __init__(self, rate):
        super().__init__()
        self.first = dense(20, 1, activation="relu")
        self.drop = keras.layers.Dropout(rate)
        self.second = dense(1, 2)

    def call(self, x, training=False):
        h = self.first(x)
        h = self.drop(h, training=training)
        return self.second(h)

    def train_step(self, data):
        features, labels = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(features, labels, self(features, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


model = Regularised(0.4)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss=keras.losses.BinaryCrossentropy(from_logits=True))
history = model.fit(x, y, epochs=3, batch_size=32, shuffle=False, verbose=0)
print("losses", [round(value, 5) for value in history.history["loss"]])
print("checksum", float(sum(np.square(w, dtype="float64").sum() for w in model.get_weights())).hex())
