import numpy as np


def load_series(window, length=170):
    t = np.arange(length)
    values = (np.sin(t / 9) + 0.1 * np.random.standard_normal(length)).astype("float32")
    x = np.stack([values[i:i + window] for i in range(length - window)])
    return x, values[window:]
