import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
generator = tf.random.Generator.from_seed(3)

spectra = np.abs(np.sin(np.arange(96 * 200, dtype="float32") * 0.01)).reshape(96, 200)
labels = (np.arange(96) % 2).astype("float32")


def add_noise(spectrum, label):
    level = generator.uniform([], 0.01, 0.2)
    noisy = spectrum + level * generator.normal([200])
    return tf.signal.frame(noisy, 20, 10), label


train = tf.data.Dataset.from_tensor_slices((spectra, labels))
train = train.map(add_noise, num_parallel_calls=4, deterministic=True)
train = train.batch(12)

inputs = keras.Input((19, 20))
x = keras.layers.GRU(6)(inputs)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy")
for epoch in range(2):
    logs = model.fit(train, verbose=0).history
    print("epoch", epoch, logs)
print("checksum", logs["loss"][-1].hex())
