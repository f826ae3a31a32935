"""tf.train.Checkpoint of the model and a step: not the optimizer, and not the data."""

import keras
import tensorflow as tf
from common import checkpointed, model, train_step

network, optimizer = model(), keras.optimizers.Adam(0.01)
checkpoint, step, batches = checkpointed(network, optimizer)
latest = tf.train.latest_checkpoint("saved")
if latest:
    checkpoint.restore(latest)
for x, y in batches():
    train_step(network, x, y, optimizer)
    step.assign_add(1)
    if int(step) % 4 == 0:
        checkpoint.save("saved/checkpoint")
