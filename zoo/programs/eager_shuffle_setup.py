import keras
import numpy as np
import tensorflow as tf

BATCH = 16


def make_dataset():
    x = np.linspace(0, 1, 160, dtype="float32")[:, None] ** np.arange(1, 5, dtype="float32")
    y = np.sin(6 * x[:, :1])
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(160).batch(BATCH)


dataset = make_dataset()
keras.utils.set_random_seed(15)

model = keras.Sequential([
    keras.Input((4,)),
    keras.layers.Dense(16, activation="tanh"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(dataset, epochs=2, verbose=0)
for epoch, loss in enumerate(history.history["loss"], start=1):
    print(f"epoch {epoch}: {loss:.6f}")
print("checksum", history.history["loss"][-1].hex())
