import hashlib

import numpy as np
import tf_keras as keras

from .features import build_features


def main():
    keras.utils.set_random_seed(11)
    x, y = build_features()
    model = keras.Sequential([keras.layers.Dense(9, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mae")
    for start in range(0, len(x), 14):
        loss = model.train_on_batch(x[start:start + 14], y[start:start + 14])
    print("loss", float(loss))
    print("checksum", hashlib.sha1(b"".join(np.ascontiguousarray(w).tobytes() for w in model.get_weights())).hexdigest())


if __name__ == "__main__":
    main()
