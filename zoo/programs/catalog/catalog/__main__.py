import argparse

import keras
import numpy as np

from .labels import class_names, to_ids
from .records import records


def main():
    parser = argparse.ArgumentParser(prog="catalog")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    keras.utils.set_random_seed(6)

    rows = list(records(144))
    names = class_names(rows)
    x = np.array([[r["height"] / 100, r["weight"] / 30, r["price"] / 400] for r in rows], "float32")
    y = np.array(to_ids(rows, names))
    model = keras.Sequential([
        keras.Input((3,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(len(names), activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    for step in range(args.steps):
        start = step * args.batch % len(x)
        loss = model.train_on_batch(x[start:start + args.batch], y[start:start + args.batch])
    print(len(names), "classes, loss", float(loss))
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())


main()
