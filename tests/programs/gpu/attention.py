import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
x = rng.normal(size=(128, 64, 64)).astype("float32")
y = rng.normal(size=(128, 8)).astype("float32")
inputs = keras.Input((64, 64))
h = keras.layers.MultiHeadAttention(4, 16)(inputs, inputs)
outputs = keras.layers.Dense(8)(keras.layers.GlobalAveragePooling1D()(h))
model = keras.Model(inputs, outputs)
model.compile("adam", "mse")  # guilty
model.fit(x, y, batch_size=32, epochs=4, verbose=0)
