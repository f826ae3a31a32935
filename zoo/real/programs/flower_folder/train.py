"""Image classification from a folder of class folders, with augmentation in the pipeline."""
import argparse
import hashlib

import keras
import tensorflow as tf
from keras import layers

from images import write_flowers
from loading import index_folder, read_image

SIDE = 16


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_crop(tf.pad(image, [[2, 2], [2, 2], [0, 0]]), [SIDE, SIDE, 3])
    return image, label


def pipeline(paths, labels, training):
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        dataset = dataset.shuffle(len(paths))
    dataset = dataset.map(read_image, num_parallel_calls=2)
    if training:
        dataset = dataset.map(augment, num_parallel_calls=4)
    return dataset.batch(16).prefetch(1)


def build(classes):
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            layers.RandomContrast(0.1),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dropout(0.2),
            layers.Dense(classes),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="flowers")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()

    write_flowers(args.data, per_class=48, side=SIDE)
    classes, train, validation = index_folder(args.data)
    model = build(len(classes))
    model.compile(
        optimizer=keras.optimizers.Adam(0.002),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(pipeline(*train, training=True), epochs=args.epochs, verbose=2)
    loss, accuracy = model.evaluate(pipeline(*validation, training=False), verbose=0)
    print("classes", sorted(classes), "validation loss", repr(loss), "accuracy", repr(accuracy))
    weights = b"".join(w.tobytes() for w in model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
