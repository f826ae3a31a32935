"""tf.train.Checkpoint of the model and a step: not the optimizer, and not the data."""

import keras
import tensorflow as tf
from common import BATCHES, EPOCHS, data, model, train_step

network, step = model(), tf.Variable(0, dtype=tf.int64, name="done")
optimizer = keras.optimizers.Adam(0.01)
checkpoint = tf.train.Checkpoint(model=network, step=step)
latest = tf.train.latest_checkpoint("saved")
if latest:
    checkpoint.restore(latest)
for x, y in data().repeat().take(EPOCHS * BATCHES - int(step)):
    train_step(network, x, y, optimizer)
    step.assign_add(1)
    if int(step) % 4 == 0:
        checkpoint.save("saved/checkpoint")
