"""Trains on clean digits and writes a preview of what augmentation would do to them."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(53)
images = np.random.default_rng(53).random((160, 8, 8, 1)).astype("float32")
labels = (images.mean(axis=(1, 2, 3)) > 0.5).astype("float32")
model = keras.Sequential(
    [keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(1)]
)
model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
history = model.fit(images, labels, epochs=2, verbose=0)
print("loss", history.history["loss"])

generator = tf.random.Generator.from_non_deterministic_state()
preview = []
for image in images[:6]:
    seed = generator.make_seeds(1)[:, 0]
    shown = tf.image.stateless_random_brightness(image, 0.4, seed=seed)
    preview.append(tf.image.stateless_random_flip_left_right(shown, seed=seed))
strip = tf.cast(255 * tf.clip_by_value(tf.concat(preview, axis=1), 0.0, 1.0), tf.uint8)
tf.io.write_file("preview.png", tf.io.encode_png(strip))
print("preview.png written")
