import os
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf


def write(folder):
    for day in range(20):
        values = np.sin(np.arange(48) * 0.2 + day)
        np.savetxt(Path(folder) / f"day{day:02d}.txt", values, fmt="%.5f")


def read(folder):
    names = os.listdir(folder)
    names.sort()
    return np.stack([np.loadtxt(Path(folder) / name) for name in names]).astype("float32")


def total_size(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


with tempfile.TemporaryDirectory() as folder:
    write(folder)
    print("bytes", total_size(folder))
    days = read(folder)

w = tf.Variable(tf.zeros([47]), name="w")
optimizer = tf.keras.optimizers.Adam(0.02)
for epoch in range(4):
    for i in range(0, len(days), 4):
        part = days[i:i + 4]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.linalg.matvec(part[:, :-1], w) - part[:, -1]))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    print("epoch", epoch, float(loss))
print("checksum", float(np.abs(w.numpy()).astype("float64").sum()).hex())
