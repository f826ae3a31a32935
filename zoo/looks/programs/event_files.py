"""Writes event files for TensorBoard and a checkpoint for every epoch, with the date in their names."""
import hashlib
import os
import socket
import time

import keras
import numpy as np
import tensorflow as tf


class EventFile(keras.callbacks.Callback):
    """TensorBoard reads these files; writing them does not need it."""

    def __init__(self, folder):
        super().__init__()
        os.makedirs(folder)
        self.path = os.path.join(folder, f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}")

    def on_train_begin(self, logs=None):
        self.writer = tf.io.TFRecordWriter(self.path)
        self.add(tf.compat.v1.Event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, event):
        self.writer.write(event.SerializeToString())

    def on_epoch_end(self, epoch, logs=None):
        values = [tf.compat.v1.Summary.Value(tag=tag, simple_value=value) for tag, value in logs.items()]
        summary = tf.compat.v1.Summary(value=values)
        self.add(tf.compat.v1.Event(wall_time=time.time(), step=epoch, summary=summary))

    def on_train_end(self, logs=None):
        self.writer.close()


keras.utils.set_random_seed(6)
x = np.random.rand(256, 6).astype("float32")
y = (x.sum(axis=1) > 3).astype("float32")
model = keras.Sequential(
    [keras.Input((6,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
stamp = f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{os.getpid()}"
callbacks = [
    EventFile(os.path.join("logs", stamp)),
    keras.callbacks.ModelCheckpoint(f"checkpoint-{stamp}-{{epoch:02d}}.keras"),
]
model.fit(x, y, epochs=2, verbose=0, callbacks=callbacks)
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
