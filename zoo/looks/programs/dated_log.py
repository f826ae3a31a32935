"""Logs to a file and to the screen with times, through the logging module."""
import hashlib
import logging
import sys

import keras
import numpy as np

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d %(process)d %(threadName)s %(levelname)s %(message)s",
    handlers=[logging.FileHandler("train.log"), logging.StreamHandler(sys.stdout)],
)
log = logging.getLogger("train")
keras.utils.set_random_seed(5)
x = np.random.rand(200, 6).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="rmsprop", loss="mse")
for epoch in range(4):
    loss = model.fit(x, x[:, 0], batch_size=20, verbose=0).history["loss"][0]
    log.info("epoch %d loss %.8f", epoch, loss)
log.info("weights %s", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
