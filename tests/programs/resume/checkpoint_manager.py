"""tf.train.CheckpointManager of model, optimizer and step: not the position in the data."""

import tensorflow as tf
from common import BATCHES, EPOCHS, data, model, train_step

network, step = model(), tf.Variable(0, dtype=tf.int64, name="done")
checkpoint = tf.train.Checkpoint(model=network, optimizer=network.optimizer, step=step)
manager = tf.train.CheckpointManager(checkpoint, "saved", max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)
for x, y in data().repeat().take(EPOCHS * BATCHES - int(step)):
    train_step(network, x, y)
    step.assign_add(1)
    if int(step) % 4 == 0:
        manager.save()
