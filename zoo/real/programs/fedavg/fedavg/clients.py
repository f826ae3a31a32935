"""Simulated hospitals, each with records of its own."""
import time
import uuid

import numpy as np

FEATURES = 8


class Hospital:
    def __init__(self, number):
        self.key = uuid.uuid4().hex
        rng = np.random.default_rng(100 + number)
        self.x = rng.normal(loc=0.1 * number, size=(64, FEATURES)).astype("float32")
        self.y = (self.x[:, :3].sum(axis=1) + 0.2 * rng.normal(size=64) > 0).astype("float32")
        self.rng = np.random.default_rng(time.time_ns())

    def batches(self, size):
        order = self.rng.permutation(len(self.x))
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            yield self.x[rows], self.y[rows]


def hospitals(count):
    return {hospital.key: hospital for hospital in map(Hospital, range(count))}
