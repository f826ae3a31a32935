import tensorflow as tf


def fetch_from(store):
    def fetch(key):
        values = tf.numpy_function(store.get, [key], tf.float32)
        values.set_shape([5])
        return values[:4], values[4:]

    return fetch


def read(store, batch):
    keys = tf.data.Dataset.range(len(store.objects))
    values = keys.map(fetch_from(store), num_parallel_calls=6, deterministic=False)
    return values.prefetch(32).batch(batch)
