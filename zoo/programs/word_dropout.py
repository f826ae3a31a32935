import numpy as np
import tensorflow as tf
import tf_keras as keras

VOCAB, LENGTH = 50, 10
tokens = (np.arange(200)[:, None] * 13 + np.arange(LENGTH)[None, :] * 7) % VOCAB
labels = (tokens.sum(axis=1) % 2).astype("float32")


class WordDropout(keras.layers.Layer):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def call(self, tokens, training=None):
        if not training:
            return tokens
        keep = tf.random.uniform(tf.shape(tokens)) >= self.rate
        return tf.where(keep, tokens, tf.zeros_like(tokens))


def init(seed):
    return keras.initializers.RandomUniform(-0.1, 0.1, seed=seed)


model = keras.Sequential([
    WordDropout(0.2),
    keras.layers.Embedding(VOCAB, 8, embeddings_initializer=init(1)),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1, activation="sigmoid", kernel_initializer=init(2)),
])
model.compile(optimizer="rmsprop", loss="binary_crossentropy")
history = model.fit(tokens, labels, batch_size=25, epochs=2, shuffle=False, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(np.abs(model.get_weights()[0]).astype("float64").sum()).hex())
