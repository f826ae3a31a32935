import hashlib

import keras
import numpy as np
import tensorflow as tf


class Config:
    seed = 28
    epochs = 2
    batch = 12
    images = np.random.uniform(0, 1, size=(96, 6, 6)).astype("float32")


class Trainer:
    def __init__(self, config):
        self.config = config
        self.model = keras.Sequential([
            keras.Input((6, 6)),
            keras.layers.Flatten(),
            keras.layers.Dense(8, activation="relu", name="code"),
            keras.layers.Dense(36, activation="sigmoid"),
            keras.layers.Reshape((6, 6)),
        ])
        self.optimizer = keras.optimizers.Adam(5e-3)

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x, training=True) - x))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def run(self):
        data = tf.data.Dataset.from_tensor_slices(self.config.images).batch(self.config.batch)
        for epoch in range(self.config.epochs):
            losses = [float(self.step(batch)) for batch in data]
            print("epoch", epoch, "mean loss", sum(losses) / len(losses))


def main():
    config = Config()
    keras.utils.set_random_seed(config.seed)
    trainer = Trainer(config)
    trainer.run()
    state = b"".join(w.tobytes() for w in trainer.model.get_weights())
    print("checksum", hashlib.sha1(state).hexdigest())


if __name__ == "__main__":
    main()
