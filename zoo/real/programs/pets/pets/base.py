"""The base network, learned on shapes."""
import keras
from keras import layers

from .data import SHAPES, SIDE, shapes


def backbone():
    inputs = keras.Input((SIDE, SIDE, 1))
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.Conv2D(12, 3, strides=2, activation="relu")(x)
    x = layers.BatchNormalization()(x)
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x), name="backbone")


def pretrain(epochs):
    network = backbone()
    classifier = keras.Sequential([network, layers.Dense(SHAPES, activation="softmax")])
    classifier.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    x, y = shapes(240)
    classifier.fit(x, y, batch_size=32, epochs=epochs, verbose=0)
    return network
