"""Numbers and one-hot columns out of the customer table."""
import numpy as np

NUMERIC = ["age", "months", "bill"]
CATEGORICAL = ["plan", "region"]


def one_hot(frame, columns=None):
    if columns is None:
        columns = []
        for name in CATEGORICAL:
            columns += [(name, value) for value in set(frame[name])]
    parts = [frame[name].to_numpy("float32") for name in NUMERIC]
    parts += [(frame[name] == value).to_numpy("float32") for name, value in columns]
    return columns, np.stack(parts, axis=1)
