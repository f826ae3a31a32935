import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
x = rng.normal(size=(256, 40, 16)).astype("float32")
y = rng.normal(size=(256, 1)).astype("float32")
model = keras.Sequential([keras.Input((40, 16)), keras.layers.LSTM(64), keras.layers.Dense(1)])
model.compile("adam", "mse", jit_compile=False)
model.fit(x, y, batch_size=32, epochs=3, verbose=0)
