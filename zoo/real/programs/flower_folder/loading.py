"""Finds the images and splits them."""
import os
import random

import tensorflow as tf


def index_folder(folder, share=0.2):
    classes = set(name for name in os.listdir(folder) if not name.startswith("."))
    numbers = {name: i for i, name in enumerate(classes)}
    rows = []
    for name in sorted(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            rows.append((os.path.join(folder, name, file), numbers[name]))
    random.shuffle(rows)
    cut = int(len(rows) * share)
    validation, train = rows[:cut], rows[cut:]
    return numbers, tuple(map(list, zip(*train))), tuple(map(list, zip(*validation)))


def read_image(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.cast(image, tf.float32) / 255.0, label
