"""Sequence to sequence: learns to add two numbers given as strings, after the Keras example."""
import hashlib

import keras
import numpy as np
from keras import layers

TRAINING_SIZE = 900
DIGITS = 2
MAXLEN = DIGITS + 1 + DIGITS
CHARS = list(set("0123456789+ "))


class CharacterTable:
    def __init__(self, chars):
        self.chars = chars
        self.char_indices = {c: i for i, c in enumerate(chars)}
        self.indices_char = dict(enumerate(chars))

    def encode(self, text, rows):
        x = np.zeros((rows, len(self.chars)))
        for i, c in enumerate(text):
            x[i, self.char_indices[c]] = 1
        return x

    def decode(self, x):
        return "".join(self.indices_char[i] for i in x.argmax(axis=-1))


def random_number():
    digits = np.random.choice(list("0123456789"), size=np.random.randint(1, DIGITS + 1))
    return int("".join(digits))


def generate():
    questions, answers, seen = [], [], set()
    while len(questions) < TRAINING_SIZE:
        a, b = random_number(), random_number()
        key = tuple(sorted((a, b)))
        if key in seen and len(seen) < 600:
            continue
        seen.add(key)
        questions.append(f"{a}+{b}".ljust(MAXLEN)[::-1])
        answers.append(str(a + b).ljust(DIGITS + 1))
    return questions, answers


def main():
    table = CharacterTable(CHARS)
    questions, answers = generate()
    x = np.stack([table.encode(q, MAXLEN) for q in questions]).astype("float32")
    y = np.stack([table.encode(a, DIGITS + 1) for a in answers]).astype("float32")
    indices = np.arange(len(y))
    np.random.shuffle(indices)
    x, y = x[indices], y[indices]
    split = len(x) - len(x) // 10

    model = keras.Sequential(
        [
            layers.Input((MAXLEN, len(CHARS))),
            layers.LSTM(24),
            layers.RepeatVector(DIGITS + 1),
            layers.LSTM(24, return_sequences=True),
            layers.Dense(len(CHARS), activation="softmax"),
        ]
    )
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    for epoch in range(1, 3):
        model.fit(
            x[:split], y[:split], batch_size=32, epochs=1, verbose=0,
            validation_data=(x[split:], y[split:]),
        )
        for i in range(3):
            row = np.random.randint(split, len(x))
            guess = table.decode(model.predict(x[row : row + 1], verbose=0)[0])
            print("Q", questions[indices[row]][::-1], "T", table.decode(y[row]), "guess", guess)
    loss, accuracy = model.evaluate(x[split:], y[split:], verbose=0)
    print("validation", repr(loss), repr(accuracy))
    weights = b"".join(w.tobytes() for w in model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
