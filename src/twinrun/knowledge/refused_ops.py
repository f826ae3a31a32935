"""Ops that have no deterministic kernel on a GPU, and what to write in their place."""

from __future__ import annotations

_ON = "with op determinism on (tf.config.experimental.enable_op_determinism())"
_ON_CPU = f'put it under `with tf.device("/CPU:0"):`, {_ON}: it has a deterministic kernel there'
_SEGMENTS = "tf.math.unsorted_segment_sum"
_SPARSE = (
    f"multiply by tf.sparse.to_dense(a) where that fits into memory, or, {_ON}, write "
    f"{_SEGMENTS}(a.values[:, None] * tf.gather(b, a.indices[:, 1]), a.indices[:, 0], a.dense_shape[0])"
)
_NEAREST = (
    "for a whole factor write tf.repeat(tf.repeat(x, factor, axis=1), factor, axis=2), or interpolate "
    f'"bilinear", which has a deterministic kernel {_ON}'
)
_COUNTED = f"write {_SEGMENTS}(weights, values, num_segments=n), {_ON}"

# By the op that refuses, or that varies. Most of what is written instead races itself while op determinism is off.
INSTEAD = {
    "CropAndResize": _ON_CPU,
    "CropAndResizeGradImage": _ON_CPU,
    "CropAndResizeGradBoxes": _ON_CPU,
    "SparseTensorDenseMatMul": _SPARSE,
    "ResizeNearestNeighborGrad": _NEAREST,
    "Bincount": _COUNTED,
    "DenseBincount": _COUNTED,
    "AdjustContrastv2": _ON_CPU,
}
