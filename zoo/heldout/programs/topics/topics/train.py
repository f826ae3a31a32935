import keras
import numpy as np

from .words import DOCUMENTS, count, vocabulary


class TopicModel(keras.Model):
    def __init__(self, topics, words):
        super().__init__()
        self.mix = keras.layers.Dense(topics, activation="softmax")
        self.words = keras.layers.Dense(words)

    def call(self, counts):
        return self.words(self.mix(counts))


def main():
    keras.utils.set_random_seed(30)
    vocab = vocabulary(DOCUMENTS)
    x = np.array(count(DOCUMENTS, vocab), "float32")
    model = TopicModel(3, len(vocab))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    history = model.fit(x, x, batch_size=10, epochs=3, verbose=0)
    print(len(vocab), "words, loss", history.history["loss"][-1])
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())


if __name__ == "__main__":
    main()
