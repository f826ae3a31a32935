"""tf.train.CheckpointManager of model, optimizer and step: not the position in the data."""

import tensorflow as tf
from common import checkpointed, model, train_step

network = model()
checkpoint, step, batches = checkpointed(network, network.optimizer, optimizer=network.optimizer)
manager = tf.train.CheckpointManager(checkpoint, "saved", max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)
for x, y in batches():
    train_step(network, x, y)
    step.assign_add(1)
    if int(step) % 4 == 0:
        manager.save()
