"""Siamese network that tells whether two glyphs are of the same class (contrastive loss)."""
import hashlib
import random

import keras
import numpy as np
from keras import layers, ops

CLASSES = 6
SIDE = 8
MARGIN = 1.0


def prototypes():
    rng = np.random.default_rng(2024)
    return (rng.random((CLASSES, SIDE, SIDE)) > 0.6).astype("float32")


def glyphs(count):
    shapes = prototypes()
    labels = np.arange(count) % CLASSES
    noise = np.random.normal(scale=0.15, size=(count, SIDE, SIDE))
    return (shapes[labels] + noise).astype("float32"), labels


def make_pairs(x, y):
    by_class = [np.where(y == c)[0] for c in range(CLASSES)]
    pairs, labels = [], []
    for i in range(len(x)):
        same = random.choice(by_class[y[i]])
        pairs.append([x[i], x[same]])
        labels.append(0.0)
        other = random.randint(0, CLASSES - 1)
        while other == y[i]:
            other = random.randint(0, CLASSES - 1)
        pairs.append([x[i], x[random.choice(by_class[other])]])
        labels.append(1.0)
    return np.array(pairs), np.array(labels, "float32")


def embedding_network():
    inputs = keras.Input((SIDE, SIDE))
    x = layers.Reshape((SIDE, SIDE, 1))(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Conv2D(6, 3, activation="tanh")(x)
    x = layers.AveragePooling2D(2)(x)
    x = layers.Flatten()(x)
    return keras.Model(inputs, layers.Dense(8, activation="tanh")(x))


def euclidean_distance(vectors):
    a, b = vectors
    return ops.sqrt(ops.maximum(ops.sum(ops.square(a - b), axis=1, keepdims=True), 1e-7))


def contrastive_loss(y_true, y_pred):
    near = ops.square(y_pred)
    far = ops.square(ops.maximum(MARGIN - y_pred, 0))
    return ops.mean((1 - y_true) * near + y_true * far)


def main():
    x, y = glyphs(360)
    order = np.random.permutation(len(x))
    x, y = x[order], y[order]
    train_pairs, train_labels = make_pairs(x[:300], y[:300])
    test_pairs, test_labels = make_pairs(x[300:], y[300:])

    left, right = keras.Input((SIDE, SIDE)), keras.Input((SIDE, SIDE))
    network = embedding_network()
    merged = layers.Lambda(euclidean_distance, output_shape=(1,))([network(left), network(right)])
    siamese = keras.Model([left, right], merged)
    siamese.compile(loss=contrastive_loss, optimizer="rmsprop")
    history = siamese.fit(
        [train_pairs[:, 0], train_pairs[:, 1]],
        train_labels,
        validation_split=0.1,
        batch_size=32,
        epochs=3,
        verbose=0,
    )
    distance = siamese.predict([test_pairs[:, 0], test_pairs[:, 1]], verbose=0)[:, 0]
    accuracy = np.mean((distance > MARGIN / 2) == (test_labels > 0.5))
    print("losses", [repr(v) for v in history.history["loss"]])
    print("test accuracy", repr(float(accuracy)))
    print("final weights", hashlib.md5(b"".join(w.tobytes() for w in siamese.get_weights())).hexdigest())


if __name__ == "__main__":
    main()
