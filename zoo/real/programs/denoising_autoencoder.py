"""Convolutional autoencoder that removes noise from stripes."""
import hashlib

import keras
import numpy as np
from keras import layers

SIDE = 16


def stripes(count):
    rng = np.random.default_rng()
    x = np.arange(SIDE, dtype="float32")
    angles = rng.uniform(0, np.pi, size=count)
    phases = rng.uniform(0, 2 * np.pi, size=count)
    images = []
    for angle, phase in zip(angles, phases):
        wave = x[:, None] * np.cos(angle) + x[None, :] * np.sin(angle)
        images.append(0.5 + 0.5 * np.sin(wave + phase))
    return np.stack(images)[..., None].astype("float32")


def noise(array):
    """Adds random noise to each image of the array."""
    noisy = array + 0.4 * np.random.normal(loc=0.0, scale=1.0, size=array.shape)
    return np.clip(noisy, 0.0, 1.0).astype("float32")


def build():
    inputs = layers.Input(shape=(SIDE, SIDE, 1))
    x = layers.Conv2D(8, (3, 3), activation="relu", padding="same")(inputs)
    x = layers.MaxPooling2D((2, 2), padding="same")(x)
    x = layers.GaussianNoise(0.05)(x)
    x = layers.Conv2DTranspose(8, (3, 3), strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(1, (3, 3), activation="sigmoid", padding="same")(x)
    autoencoder = keras.Model(inputs, x)
    autoencoder.compile(optimizer="adam", loss="binary_crossentropy")
    return autoencoder


train_data = stripes(320)
test_data = stripes(40)
noisy_train_data = noise(train_data)
noisy_test_data = noise(test_data)

autoencoder = build()
autoencoder.summary()
history = autoencoder.fit(
    x=noisy_train_data,
    y=train_data,
    epochs=3,
    batch_size=32,
    shuffle=True,
    validation_data=(noisy_test_data, test_data),
    verbose=2,
)
predictions = autoencoder.predict(noisy_test_data, verbose=0)
print("mean squared error", repr(float(np.mean((predictions - test_data) ** 2))))
print("final weights", hashlib.md5(b"".join(w.tobytes() for w in autoencoder.get_weights())).hexdigest())
