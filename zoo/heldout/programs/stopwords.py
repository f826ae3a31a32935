import keras
import numpy as np

keras.utils.set_random_seed(42)

STOP = {"the", "a", "an", "of", "and", "to", "in", "is", "it", "was"}
LINES = [
    ("the ship is lost in a storm", 0), ("a calm day and a clear sky", 1), ("it was the end of the road", 0),
    ("children sing in the garden", 1), ("an empty house and a broken gate", 0), ("to the dance and home at dawn", 1),
] * 12

vocab = {}
for text, _ in LINES:
    for word in text.split():
        if word not in STOP and word not in vocab:
            vocab[word] = len(vocab) + 1


def encode(text, length=6):
    ids = [vocab[word] for word in text.split() if word not in STOP][:length]
    return ids + [0] * (length - len(ids))


x = np.array([encode(text) for text, _ in LINES])
y = np.array([label for _, label in LINES], "float32")
model = keras.Sequential([
    keras.Input((6,)),
    keras.layers.Embedding(len(vocab) + 1, 6),
    keras.layers.Flatten(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x, y, batch_size=12, epochs=3, verbose=0)
known = {word for word in vocab if len(word) > 4}
print("long words:", len(known), "loss", history.history["loss"][-1])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
