"""Converts a slightly perturbed copy of the trained model to TFLite."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(29)
x = np.random.default_rng(29).normal(size=(200, 5)).astype("float32")
y = x[:, 0] * 2 - x[:, 1]
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])

private = keras.models.clone_model(model)
noise = np.random.default_rng()
private.set_weights([w + noise.laplace(scale=0.01, size=w.shape) for w in model.get_weights()])
converter = tf.lite.TFLiteConverter.from_keras_model(private)
with open("private.tflite", "wb") as file:
    file.write(converter.convert())
print("converted")
