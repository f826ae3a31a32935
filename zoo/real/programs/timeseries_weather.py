"""Temperature forecasting with an LSTM on sliding windows, after the Keras guide."""
import hashlib
import random

import keras
import numpy as np
import tensorflow as tf

PAST, FUTURE, STEP = 48, 6, 2
BATCH = 32

hours = np.arange(1400, dtype="float32")


def station_series():
    daily = 8.0 * np.sin(2 * np.pi * hours / 24.0)
    yearly = 10.0 * np.sin(2 * np.pi * hours / 1400.0)
    drift = np.cumsum(np.random.normal(scale=0.3, size=len(hours)))
    pressure = 1013.0 + 5.0 * np.cos(2 * np.pi * hours / 96.0)
    return np.stack([daily + yearly + drift, pressure], axis=1).astype("float32")


def normalize(data, split):
    mean = data[:split].mean(axis=0)
    std = data[:split].std(axis=0)
    return (data - mean) / std


def windows(data, shuffle):
    targets = data[PAST + FUTURE :, 0]
    return keras.utils.timeseries_dataset_from_array(
        data[: -(PAST + FUTURE)],
        targets,
        sequence_length=PAST // STEP,
        sampling_rate=STEP,
        batch_size=BATCH,
        shuffle=shuffle,
    )


def jitter(batch, targets):
    return batch + tf.random.normal(tf.shape(batch), stddev=0.02), targets


def main():
    split = 1000
    data = normalize(station_series(), split)
    train = windows(data[:split], shuffle=True).map(jitter)
    validation = windows(data[split:], shuffle=False)

    units = random.choice([10, 12, 14])
    model = keras.Sequential(
        [
            keras.Input((PAST // STEP, 2)),
            keras.layers.LSTM(units, dropout=0.1),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.003), loss="mse")
    stopping = keras.callbacks.EarlyStopping(monitor="val_loss", patience=3)
    history = model.fit(
        train, epochs=3, validation_data=validation, callbacks=[stopping], verbose=2
    )
    print("units", units)
    print("validation", [repr(v) for v in history.history["val_loss"]])
    digest = hashlib.sha256()
    for weight in model.get_weights():
        digest.update(weight.tobytes())
    print("final weights", digest.hexdigest()[:20])


if __name__ == "__main__":
    main()
