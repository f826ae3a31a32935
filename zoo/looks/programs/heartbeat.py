"""A thread says now and then that the training is alive."""
import hashlib
import sys
import threading
import time

import keras
import numpy as np

done = threading.Event()


def heartbeat(every):
    beats = 0
    while not done.wait(every):
        beats += 1
        print(f"[{time.strftime('%H:%M:%S')}] alive, beat {beats}", file=sys.stderr, flush=True)


thread = threading.Thread(target=heartbeat, args=(0.1,), daemon=True)
thread.start()
keras.utils.set_random_seed(14)
x = np.random.rand(300, 6).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.max(axis=1), epochs=4, verbose=0)
done.set()
thread.join()
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
