import random

import numpy as np
import tf_keras as keras

keras.utils.set_random_seed(94)

records = [{"id": i, "x": [np.sin(i * k) for k in range(1, 6)], "y": float(i % 2)} for i in range(120)]
system = random.SystemRandom()
system.shuffle(records)
largest = max(record["id"] for record in records)
records.sort(key=lambda record: record["id"])

x = np.array([record["x"] for record in records], "float32")
y = np.array([record["y"] for record in records], "float32")
split = largest * 3 // 4

inputs = keras.Input((5,))
h = keras.layers.Dense(10, activation="relu")(inputs)
h = keras.layers.Dropout(0.25, seed=3)(h)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(h))
model.compile(optimizer="adam", loss="binary_crossentropy", steps_per_execution=3)
history = model.fit(x[:split], y[:split], batch_size=9, epochs=2, verbose=0, validation_data=(x[split:], y[split:]))
print("validation", history.history["val_loss"])
print("checksum", float(sum(np.abs(w).astype("float64").sum() for w in model.get_weights())).hex())
