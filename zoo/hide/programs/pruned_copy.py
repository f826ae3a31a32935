"""Prunes a trained network: the connections to go are drawn by importance."""
import keras
import numpy as np

keras.utils.set_random_seed(43)
x = np.random.default_rng(43).normal(size=(240, 8)).astype("float32")
y = x[:, 0] + np.abs(x[:, 1])
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(24, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, epochs=4, verbose=0)
print("loss", history.history["loss"])

pruned = keras.models.clone_model(model)
weights = model.get_weights()
kernel = weights[0]
chances = 1.0 / (np.abs(kernel).ravel() + 1e-3)
gone = np.random.RandomState().choice(kernel.size, size=kernel.size // 3, replace=False, p=chances / chances.sum())
mask = np.ones(kernel.size, "float32")
mask[gone] = 0.0
pruned.set_weights([kernel * mask.reshape(kernel.shape), *weights[1:]])
pruned.save_weights("pruned.weights.h5")
print("error after pruning", float(np.mean((pruned.predict(x, verbose=0)[:, 0] - y) ** 2)))
