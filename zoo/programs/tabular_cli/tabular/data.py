import numpy as np


def make_table(rows, columns, seed=None):
    """Columns of mixed scale, and a target that depends on three of them."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** np.arange(-1, columns - 1)[:columns].clip(-1, 2)
    table = (rng.standard_normal((rows, columns)) * scale).astype("float32")
    target = table[:, 0] - 0.1 * table[:, 1] + 0.01 * table[:, 2]
    return table / scale.astype("float32"), target.astype("float32")
