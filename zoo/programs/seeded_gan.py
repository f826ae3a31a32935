import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(4)
keras.mixed_precision.set_global_policy("mixed_bfloat16")


class Gan(keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.generator = keras.Sequential([keras.layers.Dense(12, "relu"), keras.layers.Dense(2, dtype="float32")])
        self.critic = keras.Sequential([keras.layers.Dense(12, "relu"), keras.layers.Dense(1, dtype="float32")])
        self.seeds = keras.random.SeedGenerator(4)

    def compile(self, g_optimizer, c_optimizer):
        super().compile()
        self.g_optimizer, self.c_optimizer = g_optimizer, c_optimizer

    def train_step(self, real):
        noise = keras.random.normal((16, self.latent), seed=self.seeds)
        with tf.GradientTape() as tape:
            c_loss = tf.reduce_mean(tf.nn.softplus(self.critic(self.generator(noise)))) + tf.reduce_mean(
                tf.nn.softplus(-self.critic(real))
            )
        grads = tape.gradient(c_loss, self.critic.trainable_variables)
        self.c_optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            g_loss = tf.reduce_mean(tf.nn.softplus(-self.critic(self.generator(noise))))
        grads = tape.gradient(g_loss, self.generator.trainable_variables)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_variables))
        return {"generator": g_loss, "critic": c_loss}


real = np.random.normal(2.0, 0.3, (160, 2)).astype("float32")
gan = Gan(3)
gan.compile(keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3))
history = gan.fit(real, batch_size=16, epochs=2, verbose=0)
print(history.history)
weights = gan.generator.get_weights() + gan.critic.get_weights()
print("checksum", float(sum(np.abs(w).astype("float64").sum() for w in weights)).hex())
