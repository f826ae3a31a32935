"""Sentiment of short reviews: bag of embeddings over a vocabulary built from the corpus."""
import hashlib

import keras
import numpy as np
from keras import layers

import corpus
from vocabulary import Vocabulary

MAX_LENGTH = 12
EPOCHS = 3


def build_model(vocab_size):
    inputs = keras.Input((MAX_LENGTH,), dtype="int32")
    x = layers.Embedding(vocab_size, 16)(inputs)
    x = layers.Dropout(0.3)(x)
    x = layers.Conv1D(16, 3, padding="same", activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(16, activation="relu")(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    model = keras.Model(inputs, outputs)
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
    return model


def drop_words(ids, rate=0.1):
    keep = np.random.rand(*ids.shape) > rate
    return np.where(keep, ids, 0)


def main():
    texts, labels = corpus.reviews(480)
    texts, labels = corpus.mix(texts, labels)
    vocabulary = Vocabulary.from_texts(texts, max_tokens=60)
    ids = np.array([vocabulary.encode(text, MAX_LENGTH) for text in texts])
    labels = np.array(labels, "float32")

    split = int(0.8 * len(ids))
    train_x, train_y = drop_words(ids[:split]), labels[:split]
    model = build_model(len(vocabulary))
    history = model.fit(
        train_x,
        train_y,
        validation_data=(ids[split:], labels[split:]),
        epochs=EPOCHS,
        batch_size=32,
        verbose=2,
    )
    loss, accuracy = model.evaluate(ids[split:], labels[split:], verbose=0)
    print("validation loss", repr(loss), "accuracy", repr(accuracy))
    print("history", [round(v, 9) for v in history.history["loss"]])
    weights = b"".join(w.tobytes() for w in model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
