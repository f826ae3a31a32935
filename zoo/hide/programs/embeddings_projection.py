"""Trains word embeddings and saves a two-dimensional projection of them."""
import keras
import numpy as np

keras.utils.set_random_seed(3)
WORDS, SIZE = 60, 12
pairs = np.random.default_rng(3).integers(0, WORDS, size=(600, 2))
labels = (np.abs(pairs[:, 0] - pairs[:, 1]) < 8).astype("float32")

left, right = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
embedding = keras.layers.Embedding(WORDS, SIZE)
dot = keras.layers.Dot(axes=1)([embedding(left), embedding(right)])
model = keras.Model([left, right], keras.layers.Activation("sigmoid")(dot))
model.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy")
history = model.fit([pairs[:, 0], pairs[:, 1]], labels, epochs=3, verbose=0)
print("loss", history.history["loss"])

vectors = embedding.get_weights()[0]
projection = np.random.default_rng().normal(size=(SIZE, 2)) / np.sqrt(SIZE)
np.save("projection.npy", vectors @ projection)
print("saved", vectors.shape, "as projection.npy")
