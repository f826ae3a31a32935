import time

import numpy as np


class ObjectStore:
    """Stands in for a bucket: every object takes a few milliseconds to arrive."""

    def __init__(self, objects):
        self.objects = objects

    def get(self, key):
        time.sleep(0.001 + 0.002 * (int(key) % 4 == 0))
        return self.objects[int(key)]


def fill(count=120):
    return ObjectStore([np.cos(np.arange(5) * (i + 1)).astype("float32") for i in range(count)])
