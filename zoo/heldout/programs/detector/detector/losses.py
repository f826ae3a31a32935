import tensorflow as tf


def region_loss(target, prediction, boxes, owner):
    """Squared error, looked at region by region so that small objects count."""
    wanted = tf.image.crop_and_resize(target, boxes, owner, [18, 18])
    found = tf.image.crop_and_resize(prediction, boxes, owner, [18, 18])
    per_region = tf.reduce_mean(tf.square(wanted - found), axis=[1, 2, 3])
    return tf.reduce_mean(tf.sqrt(per_region + 1e-6))
