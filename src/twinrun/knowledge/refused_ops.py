"""Ops that have no deterministic kernel on a GPU, and what to write in their place."""

from __future__ import annotations

_ON_CPU = 'put it under `with tf.device("/CPU:0"):`, where it has a deterministic kernel'
_SEGMENTS = "tf.math.unsorted_segment_sum"
_SPARSE = (
    "multiply by tf.sparse.to_dense(a) where that fits into memory, or write "
    f"{_SEGMENTS}(a.values[:, None] * tf.gather(b, a.indices[:, 1]), a.indices[:, 0], a.dense_shape[0])"
)
_NEAREST = (
    "for a whole factor write tf.repeat(tf.repeat(x, factor, axis=1), factor, axis=2), or interpolate "
    '"bilinear", which has a deterministic kernel'
)
_COUNTED = f"write {_SEGMENTS}(weights, values, num_segments=n)"

# By the op that refuses, or that varies; what is written instead repeats with op determinism on.
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
