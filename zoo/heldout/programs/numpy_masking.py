import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(16)

clips = np.sin(np.arange(96 * 400, dtype="float32") * 0.05).reshape(96, 400)
speaker = np.arange(96) % 4


def mask(clip):
    """Silence a random stretch of the clip and add a little hiss."""
    start = np.random.randint(0, 300)
    clip = clip + np.random.rand(400).astype("float32") * 0.05
    clip[start:start + 60] = 0.0
    return clip


def prepare(clip, label):
    masked = tf.numpy_function(mask, [clip], tf.float32)
    masked = tf.ensure_shape(masked, [400])
    return tf.abs(tf.signal.stft(masked, 64, 32)), label


dataset = (
    tf.data.Dataset.from_tensor_slices((clips, speaker))
    .map(prepare, num_parallel_calls=4)
    .batch(12)
)
model = keras.Sequential([
    keras.Input((11, 33)),
    keras.layers.Conv1D(8, 3, activation="relu"),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(4, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
history = model.fit(dataset, epochs=2, verbose=0)
print("loss", history.history["loss"])
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
