import keras
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(11)

x = np.random.uniform(0, 1, (48, 24, 24, 3)).astype("float32")
y = np.random.randint(0, 4, 48)

inputs = keras.Input((24, 24, 3))
h = keras.layers.Conv2D(12, 3, activation="relu")(inputs)
h = keras.layers.MaxPooling2D()(h)
h = keras.layers.Conv2D(16, 3, activation="relu")(h)
h = keras.layers.GlobalAveragePooling2D()(h)
model = keras.Model(inputs, keras.layers.Dense(4)(h))
optimizer = keras.optimizers.Adam(1e-3)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(images, labels):
    with tf.GradientTape() as tape:
        loss = criterion(labels, model(images, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(3):
    for i in range(0, 48, 12):
        loss = step(tf.constant(x[i:i + 12]), tf.constant(y[i:i + 12]))
    print("epoch", epoch, float(loss))
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
