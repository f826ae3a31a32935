"""Synthetic shapes for the base, and pets for the task itself."""
import numpy as np
from sklearn.model_selection import train_test_split

SIDE = 14
SHAPES = 4
PETS = 3


def shapes(count):
    rng = np.random.default_rng(0)
    labels = np.arange(count) % SHAPES
    images = 0.2 * rng.random((count, SIDE, SIDE, 1))
    for image, label in zip(images, labels):
        step = 2 + label
        image[::step, :] += 0.4
        image[:, ::step] += 0.4
    return images.astype("float32"), labels


def pets_split(share):
    rng = np.random.default_rng()
    labels = np.arange(180) % PETS
    images = 0.3 * rng.random((180, SIDE, SIDE, 1))
    for image, label in zip(images, labels):
        image[label * 4 : label * 4 + 5, 3:10] += 0.5
    x_train, x_val, y_train, y_val = train_test_split(
        images.astype("float32"), labels, test_size=share, stratify=labels
    )
    return (x_train, y_train), (x_val, y_val)
