"""A new head on the frozen base, then a short round of fine-tuning of everything."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers


def attach(backbone, classes):
    backbone.trainable = False
    inputs = keras.Input(backbone.input_shape[1:])
    x = layers.RandomFlip("horizontal")(inputs)
    x = backbone(x, training=False)
    x = layers.Dropout(0.2)(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs)


def mixup(images, labels, classes):
    weight = np.random.beta(0.4, 0.4, size=(len(images), 1)).astype("float32")
    partner = np.random.permutation(len(images))
    targets = np.eye(classes, dtype="float32")[labels]
    mixed = weight[..., None, None] * images + (1 - weight[..., None, None]) * images[partner]
    return mixed, weight * targets + (1 - weight) * targets[partner]


def tune(model, backbone, train, validation, epochs):
    classes = model.output_shape[-1]
    x, y = mixup(*train, classes)
    targets = np.eye(classes, dtype="float32")[validation[1]]
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(200).batch(16)
    losses = []
    for trainable, rate in ((False, 1e-2), (True, 1e-4)):
        backbone.trainable = trainable
        model.compile(
            optimizer=keras.optimizers.Adam(rate),
            loss=keras.losses.CategoricalCrossentropy(from_logits=True),
        )
        history = model.fit(
            dataset, epochs=epochs, verbose=0, validation_data=(validation[0], targets)
        )
        losses += history.history["val_loss"]
    return losses
