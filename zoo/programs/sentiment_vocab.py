import keras
import numpy as np

keras.utils.set_random_seed(42)

TEXTS = [
    ("a warm and funny film with a big heart", 1),
    ("dull slow and far too long", 0),
    ("the best story of the year", 1),
    ("i left before the end of this mess", 0),
    ("clever music and a brave young cast", 1),
    ("nothing works and nobody cares", 0),
    ("see it twice it is that good", 1),
    ("cheap jokes and a tired plot", 0),
] * 8
LENGTH = 10

words = [word for text, _ in TEXTS for word in text.split()]
vocab = {word: number for number, word in enumerate(set(words), start=1)}


def encode(text):
    ids = [vocab[word] for word in text.split()][:LENGTH]
    return ids + [0] * (LENGTH - len(ids))


x = np.array([encode(text) for text, _ in TEXTS])
y = np.array([label for _, label in TEXTS], "float32")

model = keras.Sequential([
    keras.Input((LENGTH,)),
    keras.layers.Embedding(len(vocab) + 1, 8),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy")
history = model.fit(x, y, batch_size=16, epochs=3, verbose=0)
print("vocabulary of", len(vocab), "loss", history.history["loss"])
print("checksum", history.history["loss"][-1].hex())
