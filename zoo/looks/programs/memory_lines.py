"""Reports memory and processor time after each epoch."""
import hashlib
import resource
import time

import keras
import numpy as np

keras.utils.set_random_seed(15)


class Usage(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        used = resource.getrusage(resource.RUSAGE_SELF)
        peak = used.ru_maxrss / 1024
        print(f"epoch {epoch}: loss {logs['loss']:.7f}, peak {peak:.1f} MiB, cpu {used.ru_utime:.2f} s, {time.process_time():.2f} s")


x = np.random.rand(200, 8).astype("float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :4], epochs=3, verbose=0, callbacks=[Usage()])
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
