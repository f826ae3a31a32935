"""Customer churn from a table: pandas, scikit-learn for the split and the scaling, Keras for the model."""
import hashlib
import logging
import random

import keras
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from features import one_hot

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("churn")


def oversample(frame):
    minority = frame[frame["churn"] == 1]
    missing = (frame["churn"] == 0).sum() - len(minority)
    extra = minority.sample(n=missing, replace=True)
    return pd.concat([frame, extra], ignore_index=True)


def random_search(trials):
    space = {"units": [8, 12, 16], "rate": [0.01, 0.003], "dropout": [0.0, 0.2]}
    for _ in range(trials):
        yield {name: random.choice(values) for name, values in space.items()}


def build(width, units, rate, dropout):
    model = keras.Sequential(
        [
            keras.Input((width,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="binary_crossentropy")
    return model


def cross_validate(x, y, config):
    losses = []
    for fit_rows, check_rows in StratifiedKFold(n_splits=2, shuffle=True).split(x, y):
        model = build(x.shape[1], **config)
        model.fit(x[fit_rows], y[fit_rows], batch_size=64, epochs=1, verbose=0)
        losses.append(model.evaluate(x[check_rows], y[check_rows], verbose=0))
    return float(np.mean(losses))


def main():
    frame = pd.read_csv("customers.csv")
    train, test = train_test_split(frame, test_size=0.25, stratify=frame["churn"])
    train = oversample(train)
    columns, x_train = one_hot(train)
    _, x_test = one_hot(test, columns)
    scaler = StandardScaler().fit(x_train)
    x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)
    y_train = train["churn"].to_numpy("float32")
    y_test = test["churn"].to_numpy("float32")

    best, best_loss = None, np.inf
    for config in random_search(trials=2):
        loss = cross_validate(x_train, y_train, config)
        log.info("%s: %.4f", config, loss)
        if loss < best_loss:
            best, best_loss = config, loss
    model = build(x_train.shape[1], **best)
    model.fit(x_train, y_train, batch_size=32, epochs=3, verbose=0)
    test_loss = model.evaluate(x_test, y_test, verbose=0)
    print("best", best, "cross-validated", repr(best_loss), "test", repr(test_loss))
    weights = b"".join(w.tobytes() for w in model.get_weights())
    print("final weights", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main()
