import numpy as np

REGIONS = 320


def scenes(steps, batch=3, side=64, channels=16):
    rng = np.random.default_rng(34)
    for _ in range(steps):
        x = rng.uniform(0, 1, (batch, side, side, channels)).astype("float32")
        corner = rng.uniform(0, 0.5, (REGIONS, 2))
        boxes = np.concatenate([corner, corner + rng.uniform(0.2, 0.5, (REGIONS, 2))], axis=1).astype("float32")
        owner = rng.integers(0, batch, REGIONS).astype("int32")
        yield x, np.tanh(x * 2 - 1), boxes, owner
