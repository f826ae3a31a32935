"""`share`: a worker's part of each global batch, so that the global sequence is the same whatever the number of workers."""

from __future__ import annotations

import json
import os
from typing import Any

from twinrun.errors import UsageError
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.make_repeatable import made_by_us

_TRAINS = ("chief", "worker")  # jobs of a cluster, in the order in which its workers are numbered


@unconverted
def share(dataset: Any, index: int | None = None, workers: int | None = None, *, replicas: int = 1) -> Any:
    """The share of one worker in a dataset made by `repeatable`, whose elements are global batches.

    Each global batch is cut into as many pieces as there are workers, in order, as equal as can be: all workers take the
    same number of steps, and what they train on together in a step does not depend on how many they are. Without `index`
    and `workers` they are those of TF_CONFIG; without that, there is one worker. A worker with several `replicas`
    gets a piece for each of them, one after the other, as `distribute_datasets_from_function` wants them.
    """
    import tensorflow as tf

    if made_by_us(dataset) is None:
        hint = "share(twinrun.repeatable(ds, seed=42)): each worker must see the same global batches"
        raise UsageError("share: this dataset was not made by twinrun.repeatable", hint=hint)
    _must_be_batched(dataset)
    if index is None or workers is None:
        if index is not workers:
            raise UsageError("share: index and workers belong together", hint="share(ds, 0, 2), or share(ds)")
        index, workers = worker_of(os.environ.get("TF_CONFIG"))
    if not 0 <= index < workers or replicas < 1:
        raise UsageError(f"share: there is no worker {index} of {workers} with {replicas} replicas")
    pieces = workers * replicas
    spreads = type(dataset.element_spec) is tuple  # over the arguments of a function

    def piece(number: Any, batch: Any) -> Any:
        size = _length(tf.nest.flatten(batch)[0])
        start, stop = size * number // pieces, size * (number + 1) // pieces
        return tf.nest.map_structure(lambda tensor: tensor[start:stop], batch)

    @unconverted
    def of_worker(*batch: Any) -> Any:
        return piece(index, batch if spreads else batch[0])

    @unconverted
    def of_replicas(*batch: Any) -> Any:
        numbers = tf.data.Dataset.range(index * replicas, (index + 1) * replicas)
        return numbers.map(unconverted(lambda number: piece(number, batch if spreads else batch[0])))

    mine = dataset.map(of_worker) if replicas == 1 else dataset.flat_map(of_replicas)
    options = tf.data.Options()  # it is a share already
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return mine.with_options(options)


def worker_of(config: str | None) -> tuple[int, int]:
    """The number of a worker and how many there are, by its TF_CONFIG."""
    if not config:
        return 0, 1
    try:
        read = json.loads(config)
        task = read.get("task", {})
        sizes = {job: len(addresses) for job, addresses in read.get("cluster", {}).items()}
        kind, number = str(task.get("type", "worker")), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as problem:
        raise UsageError(
            f"share: TF_CONFIG cannot be read: {problem}", hint="share(ds, index, workers)"
        ) from None
    if not sizes:
        return 0, 1
    if kind not in _TRAINS:
        raise UsageError(f"share: a task of type {kind!r} has no share", hint="only workers train")
    before = sizes.get("chief", 0) if kind == "worker" else 0
    return before + number, sum(sizes.get(job, 0) for job in _TRAINS)


def _length(tensor: Any) -> Any:
    import tensorflow as tf

    if isinstance(tensor, tf.RaggedTensor):
        return tf.cast(tensor.nrows(), tf.int64)
    return tf.shape(tensor, out_type=tf.int64)[0]


def _must_be_batched(dataset: Any) -> None:
    import tensorflow as tf

    for spec in tf.nest.flatten(dataset.element_spec):
        if not isinstance(spec, (tf.TensorSpec, tf.RaggedTensorSpec)):
            raise UsageError(f"share: a batch of {type(spec).__name__} cannot be cut into pieces")
        if spec.shape.rank == 0:
            hint = "batch it by the size of the global batch: twinrun.repeatable(ds.batch(64))"
            raise UsageError("share: the elements of this dataset are not batches", hint=hint)
