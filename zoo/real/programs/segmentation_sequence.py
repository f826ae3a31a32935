"""Segmentation of discs, fed by a PyDataset with workers."""
import hashlib
import math

import keras
import numpy as np
from keras import layers

SIDE = 16
BATCH = 16


def discs(count):
    rng = np.random.default_rng()
    yy, xx = np.mgrid[:SIDE, :SIDE]
    centers = rng.uniform(4, 12, size=(count, 2))
    radii = rng.uniform(2, 5, size=count)
    masks = np.stack(
        [((yy - cy) ** 2 + (xx - cx) ** 2 < r * r) for (cy, cx), r in zip(centers, radii)]
    ).astype("float32")
    images = masks * 0.6 + rng.normal(scale=0.2, size=masks.shape)
    return images[..., None].astype("float32"), masks[..., None]


class Discs(keras.utils.PyDataset):
    """Batches of images and masks, flipped and shifted at random."""

    def __init__(self, images, masks, **kwargs):
        super().__init__(**kwargs)
        self.images, self.masks = images, masks
        self.order = np.random.permutation(len(images))

    def __len__(self):
        return math.ceil(len(self.images) / BATCH)

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        images, masks = self.images[rows].copy(), self.masks[rows].copy()
        for i in range(len(rows)):
            if np.random.rand() < 0.5:
                images[i], masks[i] = images[i, :, ::-1], masks[i, :, ::-1]
            shift = np.random.randint(-2, 3)
            images[i], masks[i] = np.roll(images[i], shift, 0), np.roll(masks[i], shift, 0)
        return images, masks

    def on_epoch_end(self):
        np.random.shuffle(self.order)


def unet():
    inputs = keras.Input((SIDE, SIDE, 1))
    skip = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(skip)
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(x)
    x = layers.SpatialDropout2D(0.1)(x)
    x = layers.UpSampling2D()(x)
    x = layers.Concatenate()([x, skip])
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))


images, masks = discs(160)
train = Discs(images[:128], masks[:128], workers=3, use_multiprocessing=False, max_queue_size=4)
model = unet()
model.compile(optimizer=keras.optimizers.Adam(0.005), loss="binary_crossentropy")
history = model.fit(train, epochs=3, verbose=0)
predicted = model.predict(images[128:], verbose=0) > 0.5
overlap = np.logical_and(predicted, masks[128:]).sum() / np.logical_or(predicted, masks[128:]).sum()
print("loss", [repr(v) for v in history.history["loss"]])
print("intersection over union", repr(float(overlap)))
print("final weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest()[:20])
