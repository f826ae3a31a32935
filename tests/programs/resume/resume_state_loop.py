"""twinrun.ResumeState with tf.train.Checkpoint, in a loop of the program's own that also draws from NumPy and Python."""

import random

import numpy as np
import tensorflow as tf
from common import EPOCHS, data, model, train_step

import twinrun

network = model()
state = twinrun.ResumeState(data=data(), model=network)
checkpoint = tf.train.Checkpoint(model=network, optimizer=network.optimizer, state=state)
manager = tf.train.CheckpointManager(checkpoint, "saved", max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)
for _ in state.epochs(EPOCHS):
    for x, y in state.batches():
        noise = np.random.normal(size=x.shape).astype("float32") + random.random()
        train_step(network, x + 0.1 * noise + 0.1 * tf.random.normal(x.shape), y)
        if state.step % 3 == 0:
            manager.save()
