"""Small seeded programs, one for each shape of training that a user may write: `shapes.py NAME`.

Each ends by printing a digest of its weights, so that a watched run can be held against an unwatched one."""
import hashlib
import sys

import numpy as np
import tensorflow as tf

STEPS = 6


def data(n=8 * STEPS, width=5):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, width)).astype("float32"), rng.integers(0, 3, n)


def net(keras, **options):
    keras.utils.set_random_seed(7)
    return keras.Sequential([
        keras.layers.Input((5,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(3),
    ], **options)


def compiled(keras, **options):
    model = net(keras)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], **options)
    return model


def fit(model, **options):
    x, y = data()
    model.fit(x, y, batch_size=8, epochs=2, verbose=0, **options)
    return model.weights


def fit_default():
    import keras
    return fit(compiled(keras))


def fit_accumulating():
    import keras
    model = compiled(keras)
    model.optimizer = keras.optimizers.Adam(gradient_accumulation_steps=2)
    return fit(model)


def fit_eager():
    import keras
    return fit(compiled(keras, run_eagerly=True))


def fit_jit():
    import keras
    return fit(compiled(keras, jit_compile=True))


def fit_steps_per_execution():
    import keras
    return fit(compiled(keras, steps_per_execution=3))


def fit_jit_steps_per_execution():
    import keras
    return fit(compiled(keras, steps_per_execution=3, jit_compile=True))


def fit_custom_train_step():
    import keras

    class Custom(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = net(keras)

        def call(self, x, training=False):
            return self.inner(x, training=training)

        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return {"loss": loss}

    model = Custom()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return fit(model)


def fit_dataset():
    import keras
    model = compiled(keras)
    ds = tf.data.Dataset.from_tensor_slices(data()).shuffle(20, seed=1).batch(8).prefetch(2)
    model.fit(ds, epochs=2, verbose=0)
    return model.weights


def fit_pydataset():
    import keras

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return STEPS

        def __getitem__(self, i):
            x, y = data()
            return x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8]

    model = compiled(keras)
    model.fit(Batches(), epochs=2, shuffle=False, verbose=0)
    return model.weights


def fit_generator():
    import keras

    def batches():
        x, y = data()
        while True:
            for i in range(STEPS):
                yield x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8]

    model = compiled(keras)
    model.fit(batches(), steps_per_epoch=STEPS, epochs=2, verbose=0)
    return model.weights


def fit_everything():
    import keras

    class Own(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert "loss" in logs

    class Plain(keras.layers.Layer):
        """Without an __init__ of its own: its configuration is made from that of Layer."""

    assert Plain(name="plain").get_config()["name"] == "plain"
    weights = []
    for _ in range(2):
        model = compiled(keras)
        x, y = data()
        for _ in range(2):
            model.fit(x, y, batch_size=8, validation_data=(x[:8], y[:8]), class_weight={0: 1.0, 1: 2.0, 2: 0.5},
                      callbacks=[Own()], verbose=0)
        weights += model.weights
    return weights


def train_on_batch():
    import keras
    model = compiled(keras)
    x, y = data()
    for i in range(STEPS):
        model.train_on_batch(x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8])
    return model.weights


def tf_keras_fit():
    import tf_keras
    return fit(compiled(tf_keras))


def tf_keras_steps_per_execution():
    import tf_keras
    return fit(compiled(tf_keras, steps_per_execution=3))


def tf_keras_legacy_optimizer():
    import tf_keras
    model = net(tf_keras)
    model.compile(tf_keras.optimizers.legacy.SGD(0.1), "mse")
    x, _ = data()
    model.fit(x, x[:, :3], batch_size=8, epochs=2, verbose=0)
    return model.weights


def loss_of(keras, model, x, y):
    return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x, training=True), from_logits=True))


def step_of(keras, model, optimizer):
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(keras, model, x, y)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def dataset():
    return tf.data.Dataset.from_tensor_slices(data()).batch(8)


def loop_eager():
    import keras
    model, optimizer = net(keras), keras.optimizers.Adam()
    step = step_of(keras, model, optimizer)
    for x, y in dataset():
        step(x, y)
    return model.weights


def loop_function():
    import keras
    model, optimizer = net(keras), keras.optimizers.Adam()
    step = tf.function(step_of(keras, model, optimizer))
    for x, y in dataset():
        step(x, y)
    return model.weights


def loop_inside_function():
    import keras
    model, optimizer = net(keras), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    step = step_of(keras, model, optimizer)
    x, y = (tf.constant(part) for part in data())

    @tf.function
    def train():
        for i in tf.range(STEPS):
            step(x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8])

    train()
    return model.weights


def loop_over_dataset_inside_function():
    import keras
    model, optimizer = net(keras), keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    step = step_of(keras, model, optimizer)

    @tf.function
    def train(ds):
        for x, y in ds:
            step(x, y)

    train(dataset())
    return model.weights


def iterator_inside_function():
    import keras
    model, optimizer = net(keras), keras.optimizers.SGD(0.1)
    step = step_of(keras, model, optimizer)

    @tf.function
    def train(iterator):
        x, y = next(iterator)
        return step(x, y)

    iterator = iter(dataset())
    for _ in range(STEPS):
        train(iterator)
    return model.weights


def gan_parts(keras):
    keras.utils.set_random_seed(7)
    generator = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(5)], name="generator")
    critic = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(1)], name="critic")
    return generator, critic, keras.optimizers.Adam(), keras.optimizers.SGD(0.1)


def gan_in_one_function():
    import keras
    generator, critic, g_optimizer, c_optimizer = gan_parts(keras)

    @tf.function
    def step(real):
        noise = tf.random.stateless_normal([8, 4], seed=[1, 2])
        with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
            fake = critic(generator(noise))
            g_loss = -tf.reduce_mean(fake)
            c_loss = tf.reduce_mean(fake) - tf.reduce_mean(critic(real))
        g_vars, c_vars = generator.trainable_variables, critic.trainable_variables
        g_optimizer.apply_gradients(zip(g_tape.gradient(g_loss, g_vars), g_vars))
        c_optimizer.apply_gradients(zip(c_tape.gradient(c_loss, c_vars), c_vars))
        return {"g_loss": g_loss, "c_loss": c_loss}

    for x, _ in dataset():
        step(x)
    return generator.weights + critic.weights


def gan_eager():
    import keras
    generator, critic, g_optimizer, c_optimizer = gan_parts(keras)
    for x, _ in dataset():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(critic(generator(x[:, :4]))) - tf.reduce_mean(critic(x))
        c_optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(critic(generator(x[:, :4])))
        g_optimizer.apply_gradients(zip(tape.gradient(loss, generator.trainable_variables), generator.trainable_variables))
    return generator.weights + critic.weights


def accumulation():
    import keras
    model, optimizer = net(keras), keras.optimizers.Adam()
    variables = model.trainable_variables
    total = [tf.Variable(tf.zeros_like(v)) for v in variables]
    for i, (x, y) in enumerate(dataset()):
        with tf.GradientTape() as tape:
            loss = loss_of(keras, model, x, y)
        for t, g in zip(total, tape.gradient(loss, variables)):
            t.assign_add(g)
        if i % 2:
            optimizer.apply_gradients(zip([t / 2 for t in total], variables))
            for t in total:
                t.assign(tf.zeros_like(t))
    return model.weights


def mixed(policy):
    import keras
    keras.mixed_precision.set_global_policy(policy)
    return fit(compiled(keras))


def mixed_bfloat16():
    return mixed("mixed_bfloat16")


def mixed_float16():
    return mixed("mixed_float16")


def strings_and_ragged():
    import keras
    keras.utils.set_random_seed(7)
    table = keras.layers.Embedding(20, 4)
    head = keras.layers.Dense(1)
    optimizer = keras.optimizers.SGD(0.1)
    words = tf.ragged.constant([["a", "b"], ["c"], ["a", "c", "d"], []] * 4)
    for row in tf.data.Dataset.from_tensor_slices(words).batch(4):
        with tf.GradientTape() as tape:
            ids = tf.strings.to_hash_bucket_fast(row.to_tensor(), 20)
            loss = tf.reduce_mean(head(table(ids)) ** 2)
        variables = table.trainable_variables + head.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return table.weights + head.weights


def manual_update():
    tf.random.set_seed(7)
    weight = tf.Variable(tf.random.normal([5, 1]))
    bias = tf.Variable([0.0])
    x, y = data()
    for i in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x[i * 8:i * 8 + 8] @ weight + bias - y[i * 8:i * 8 + 8, None]) ** 2)
        for v, g in zip([weight, bias], tape.gradient(loss, [weight, bias])):
            v.assign_sub(0.1 * g)
    return [weight, bias]


def manual_update_in_function():
    tf.random.set_seed(7)
    weight = tf.Variable(tf.random.normal([5, 1]), name="w")
    x, y = data()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - tf.cast(y, tf.float32)[:, None]) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    for i in range(STEPS):
        step(x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8])
    return [weight]


def mirrored():
    import keras
    cpus = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = compiled(keras)
    return fit(model)


def only_dataset():
    for _ in tf.data.Dataset.range(40).shuffle(40, seed=1):
        pass
    return []


def only_build():
    import keras
    return net(keras).weights


def only_random():
    tf.random.set_seed(1)
    print(tf.random.normal([3]).numpy())
    return []


def only_probe():
    import twinrun
    twinrun.probe("numbers", np.arange(5))
    return []


def nothing():
    return []


if __name__ == "__main__":
    weights = globals()[sys.argv[1]]()
    whole = hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in weights)).hexdigest()
    print("final", whole)
