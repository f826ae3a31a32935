import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(13)
CLASSES, SIDE = 4, 448


def balanced_loss(y_true, y_pred):
    """Cross entropy in which every class weighs the same, however few pixels it has."""
    classes = tf.cast(tf.reshape(y_true[..., 0], [-1]), tf.int32)
    confidence = tf.reshape(y_true[..., 1], [-1])
    mass = tf.math.bincount(classes, weights=confidence, minlength=CLASSES, maxlength=CLASSES)
    weight = tf.reduce_sum(mass) / (CLASSES * mass + 1.0)
    logits = tf.reshape(y_pred, [-1, CLASSES])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
    return tf.reduce_mean(losses * tf.gather(weight, classes))


def scenes(n):
    x = np.random.normal(size=(n, SIDE, SIDE, 2)).astype("float32")
    kind = np.digitize(x[..., 0], [-1.5, 0.5, 1.8])
    confidence = np.random.uniform(0.2, 1.0, size=kind.shape)
    return x, np.stack([kind, confidence], axis=-1).astype("float32")


x, y = scenes(16)
inputs = keras.Input((SIDE, SIDE, 2))
outputs = keras.layers.Conv2D(CLASSES, 1)(inputs)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.SGD(0.5), loss=balanced_loss)
history = model.fit(x, y, batch_size=8, epochs=6, verbose=0)
print("loss", history.history["loss"])
print("checksum", b"".join(w.tobytes() for w in model.get_weights()).hex())
