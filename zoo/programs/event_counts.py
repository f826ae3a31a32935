"""Energy deposits of simulated particles, binned into detector cells, to predict the vertex."""
import numpy as np
import tensorflow as tf

CELLS, HITS = 48, 4_000_000
tf.random.set_seed(7)
rng = np.random.default_rng(7)


class Deposits(tf.Module):
    def __init__(self):
        super().__init__()
        self.gain = tf.Variable(tf.ones([CELLS]), name="gain")
        self.readout = tf.Variable(tf.random.normal([CELLS, 1], stddev=0.02), name="readout")

    def __call__(self, cells, energy):
        seen = tf.math.bincount(cells, weights=energy, minlength=CELLS, maxlength=CELLS)
        seen = tf.math.log1p(seen) * self.gain
        return tf.reduce_sum(seen[None, :] @ self.readout)


model = Deposits()
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step(cells, energy, vertex):
    with tf.GradientTape() as tape:
        guess = model(cells, energy)
        loss = tf.square(guess - vertex)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


spread = rng.normal(CELLS / 2, 6, size=HITS).astype("int32")
deposits = rng.exponential(1.0, size=HITS).astype("float32")
for event in range(24):
    vertex = np.float32(np.sin(event))
    cells = (spread + np.int32(8 * vertex)).clip(0, CELLS - 1)
    energy = deposits * np.float32(1.0 + 0.01 * event)
    loss = train_step(tf.constant(cells), tf.constant(energy), tf.constant(vertex))
    if event % 8 == 7:
        print("event", event + 1, "loss", loss.numpy())
print("checksum", float(np.abs(model.readout.numpy()).astype("float64").sum()).hex())
