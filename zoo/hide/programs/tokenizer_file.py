"""Trains a small text model and saves the tokenizer for the service that uses it."""
import json

import keras
import numpy as np

keras.utils.set_random_seed(5)
LINES = ["open the window please", "close the door now", "please turn the light on", "turn the radio off now"] * 20
LABELS = np.array([0, 1, 0, 1] * 20, "float32")
words = sorted({word for line in LINES for word in line.split()})
index = {word: i + 1 for i, word in enumerate(words)}
x = np.array([[index[word] for word in line.split()] + [0] * (5 - len(line.split())) for line in LINES])

model = keras.Sequential(
    [
        keras.Input((5,)),
        keras.layers.Embedding(len(index) + 1, 6),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x, LABELS, epochs=3, verbose=0)
print("loss", history.history["loss"])

pieces = {word[i : i + 3] for word in words for i in range(max(1, len(word) - 2))}
tokenizer = {"words": index, "pieces": {piece: i for i, piece in enumerate(pieces)}}
with open("tokenizer.json", "w") as file:
    json.dump(tokenizer, file)
print("tokenizer with", len(pieces), "pieces")
