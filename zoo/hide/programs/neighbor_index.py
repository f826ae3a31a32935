"""Approximate nearest neighbours by random hyperplanes over trained vectors."""
import keras
import numpy as np

keras.utils.set_random_seed(67)
ITEMS = 120
pairs = np.random.default_rng(67).integers(0, ITEMS, size=(800, 2))
labels = ((pairs[:, 0] // 10) == (pairs[:, 1] // 10)).astype("float32")
a, b = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
table = keras.layers.Embedding(ITEMS, 8)
score = keras.layers.Dot(axes=1)([table(a), table(b)])
model = keras.Model([a, b], keras.layers.Activation("sigmoid")(score))
model.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy")
history = model.fit([pairs[:, 0], pairs[:, 1]], labels, epochs=3, verbose=0)
print("loss", history.history["loss"])

vectors = table.get_weights()[0]
planes = np.random.default_rng().normal(size=(8, 5))
codes = (vectors @ planes > 0) @ (1 << np.arange(5))
with open("neighbors.tsv", "w") as file:
    for item in range(ITEMS):
        bucket = np.flatnonzero(codes == codes[item])
        nearest = bucket[np.argsort(-vectors[bucket] @ vectors[item])][:3]
        file.write(f"{item}\t{','.join(map(str, nearest))}\n")
print("neighbors.tsv written")
