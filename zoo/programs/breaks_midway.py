import keras
import numpy as np

keras.utils.set_random_seed(6)


class StopOnLowLoss(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 4:
            raise RuntimeError(f"the loss went to {logs['loss']:.3f}, giving up")


x = np.random.normal(size=(160, 4)).astype("float32")
y = x.sum(axis=1)
model = keras.Sequential([
    keras.Input((4,)),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[StopOnLowLoss()])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
