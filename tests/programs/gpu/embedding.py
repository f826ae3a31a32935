import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
rng = np.random.default_rng(3)
x = rng.integers(0, 50, (512, 64)).astype("int32")
y = rng.integers(0, 2, 512)
model = keras.Sequential(
    [
        keras.Input((64,), dtype="int32"),
        keras.layers.Embedding(50, 64),  # guilty
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(2),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=128, epochs=5, verbose=0)
