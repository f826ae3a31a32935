"""An autoencoder whose loss looks at many overlapping patches of the picture."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(20)

BATCH, PATCHES = 4, 80
corners = np.random.uniform(0.0, 0.6, (PATCHES, 2))
BOXES = np.concatenate([corners, corners + 0.35], axis=1).astype("float32")


def patch_loss(y_true, y_pred):
    count = tf.shape(y_true)[0]
    boxes = tf.tile(BOXES, [count, 1])
    owner = tf.repeat(tf.range(count), PATCHES)
    wanted = tf.image.crop_and_resize(y_true, boxes, owner, [20, 20])
    given = tf.image.crop_and_resize(y_pred, boxes, owner, [20, 20])
    return tf.reduce_mean(tf.square(wanted - given))


grid = np.indices((64, 64)).astype("float32") / 64.0
pictures = np.stack([np.sin((i + 2) * grid[0]) * np.cos((i % 5) * grid[1]) for i in range(40)])[..., None]
pictures = np.repeat(pictures, 16, axis=-1) * np.linspace(0.5, 1.5, 16, dtype="float32")

model = keras.Sequential([
    keras.Input((64, 64, 16)),
    keras.layers.Conv2D(6, 3, strides=2, padding="same", activation="relu"),
    keras.layers.Conv2DTranspose(16, 3, strides=2, padding="same"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=patch_loss)
for epoch in range(2):
    history = model.fit(pictures, pictures, batch_size=BATCH, verbose=0)
    print("epoch", epoch, history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
