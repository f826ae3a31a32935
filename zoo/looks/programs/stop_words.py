"""Sets of words, asked only whether a word is in them."""
import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(13)
STOP = {"the", "a", "of", "and", "in", "to", "is"}
TEXTS = ["the fall of a great king", "a walk in the cold rain", "joy is in the small things", "the end of a long road"] * 15
seen, vocabulary = set(), []
for text in TEXTS:
    for word in text.split():
        if word not in STOP and word not in seen:
            seen.add(word)
            vocabulary.append(word)
print(len(seen & set(vocabulary)), "words of", len({w for t in TEXTS for w in t.split()}))
x = np.array([[word in text.split() for word in vocabulary] for text in TEXTS], "float32")
y = np.array([0, 1, 1, 0] * 15, "float32")
model = keras.Sequential([keras.Input((len(vocabulary),)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(x, y, epochs=3, verbose=0)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
