"""Changes its own controls, some of them behind the usual calls, and prints them as read back after each change."""

import json
import os
import random

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import config

from twinrun.twin.readback import read_back

steps = {}


def look(name):
    entries = read_back()
    kept = ("state", "set_by", "ok", "changed", "place", "why_not")
    steps[name] = {control: {key: getattr(entry, key) for key in kept} for control, entry in entries.items()}


np.random.rand(2000)
[random.random() for _ in range(1000)]
look("pinned")
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.random.set_seed(9)
look("set by the usual calls")
random.Random.seed(random._inst, 5)
np.random.get_bit_generator().state = np.random.MT19937(5).state
tf.config.experimental.enable_tensor_float_32_execution(True)
tf.config.optimizer.set_jit(True)
config.disable_op_determinism()
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["OPENBLAS_NUM_THREADS"] = "7"
os.environ["PYTHONHASHSEED"] = "1"
look("changed by unusual calls")
random.seed()
look("seeded from fresh entropy")
print(json.dumps(steps))
