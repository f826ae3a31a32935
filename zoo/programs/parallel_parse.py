import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(8)


def records(count):
    for i in range(count):
        side = 16 + (i * 37) % 150
        picture = (np.add.outer(np.arange(side), np.arange(side) * (i % 9 + 1)) % 256).astype("uint8")
        yield tf.io.encode_png(picture[..., None]).numpy()


def parse(png, label):
    picture = tf.cast(tf.io.decode_png(png, channels=1), tf.float32) / 255.0
    return tf.image.resize(picture, [10, 10], antialias=True), label


data = tf.data.Dataset.from_tensor_slices((list(records(90)), np.arange(90) % 9))
data = (
    data.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    .map(lambda x, y: (tf.image.per_image_standardization(x), y), num_parallel_calls=4)
    .batch(10, num_parallel_calls=2)
    .prefetch(tf.data.AUTOTUNE)
)
model = keras.Sequential([
    keras.Input((10, 10, 1)),
    keras.layers.Conv2D(4, 3, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(9, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
history = model.fit(data, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
