import random

import numpy as np
import tensorflow as tf

DEFAULTS = {"seed": 7, "window": 10, "epochs": 2, "batch": 16}


def set_seeds(seed):
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
