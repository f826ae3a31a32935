import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(90)

SIDE = 32
augment = keras.Sequential([
    keras.layers.RandomFlip("horizontal", seed=1),
    keras.layers.RandomRotation(0.1, seed=2),
])


def prepare(image, label):
    return augment(image, training=True), label


def load():
    grid = np.indices((SIDE, SIDE)).sum(axis=0).astype("float32") / SIDE
    images = np.stack([np.sin(grid * (1 + i % 7)) for i in range(80)])[..., None]
    return images, np.arange(80) % 7


images, labels = load()
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(prepare, num_parallel_calls=8).batch(10)

model = keras.Sequential([
    keras.Input((SIDE, SIDE, 1)),
    keras.layers.Conv2D(4, 5, strides=4, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(7),
])
optimizer = keras.optimizers.Adam(3e-3)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def update(x, y):
    with tf.GradientTape() as tape:
        loss = criterion(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(2):
    for x, y in dataset:
        loss = update(x, y)
    print("epoch", epoch, float(loss))
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
