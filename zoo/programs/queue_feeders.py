import queue
import threading

import numpy as np
import tf_keras as keras

keras.utils.set_random_seed(47)
ready = queue.Queue(maxsize=4)


def feeder(number, batches):
    """Every feeder has a stream of its own and puts what it made into the shared queue."""
    rng = np.random.default_rng([47, number])
    for _ in range(batches):
        raw = rng.standard_normal((16, 30_000))
        x = np.sort(raw, axis=1)[:, ::1000].astype("float32")
        ready.put((x, x.mean(axis=1, keepdims=True)))


def feed(batches):
    threads = [threading.Thread(target=feeder, args=(n, 24 // 3), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(batches):
        yield ready.get()


inputs = keras.Input((30,))
hidden = keras.layers.Dense(8, activation="relu")(inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
model.compile(optimizer="sgd", loss="mse")

for x, y in feed(24):
    loss = model.train_on_batch(x, y)
print("loss", float(loss))
print("checksum", float(sum(np.abs(w).astype("float64").sum() for w in model.get_weights())).hex())
