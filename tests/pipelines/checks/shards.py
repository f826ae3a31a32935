"""Coverage and overlap between workers, counted by element digests."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import twinrun
from twinrun.errors import NotComparable, UsageError
from twinrun.pipelines import audit_shards, note_sites, set_epoch, share
from twinrun.pipelines.stream_fingerprint import CannotFingerprint
from twinrun.pipelines.worker_share import worker_of

D = tf.data.Dataset
note_sites()


def a_clean_shard_gives_every_element_once() -> None:
    audit = audit_shards(
        lambda context: D.range(21).shard(context.num_input_pipelines, context.input_pipeline_id), workers=4
    )
    assert audit.clean and audit.findings == ()
    assert [worker.elements for worker in audit.workers] == [6, 5, 5, 5]
    assert "every element once" in str(audit)


def a_shuffle_before_the_shard_is_counted_in_missing_and_repeated_elements() -> None:
    def make(context: Any) -> Any:
        ds = D.range(200).shuffle(200)
        return ds.shard(context.num_input_pipelines, context.input_pipeline_id).batch(5)

    audit = audit_shards(make, workers=2)
    assert audit.whole == 200 and audit.missing == audit.repeated and audit.missing > 20
    (finding,) = audit.findings
    assert finding.code == "TW602" and str(audit.missing) in finding.message
    assert finding.line == inspect.getsourcelines(make)[1] + 2


def what_a_remainder_drops_is_counted() -> None:
    def make(context: Any) -> Any:
        ds = D.range(21).shard(context.num_input_pipelines, context.input_pipeline_id)
        return ds.batch(4, drop_remainder=True)

    audit = audit_shards(make, workers=2)
    assert (audit.whole, audit.missing, audit.repeated) == (20, 4, 0)
    assert "drop_remainder" in (audit.findings[0].fix or "")


def auto_sharding_covers_the_data_and_off_repeats_it() -> None:
    assert audit_shards(D.range(20).batch(2), workers=2).clean
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    audit = audit_shards(D.range(20).with_options(options), workers=3)
    assert (audit.missing, audit.repeated) == (0, 40)


def a_list_of_datasets_is_checked_for_overlap_and_for_coverage_with_the_whole() -> None:
    parts = [D.range(10), D.range(5, 15)]
    assert audit_shards(parts).repeated == 5
    audit = audit_shards(parts, whole=D.range(20))
    assert (audit.missing, audit.repeated, audit.foreign) == (5, 5, 0)
    assert audit_shards([D.range(3), D.range(30, 33)], whole=D.range(6)).foreign == 3


def elements_that_are_drawn_again_need_a_key() -> None:
    ds = D.range(40).map(lambda x: {"id": x, "noise": tf.random.uniform([])}).batch(4)
    with pytest.raises(NotComparable, match="draws again"):
        audit_shards(ds, workers=2)
    assert audit_shards(ds, workers=2, key=lambda element: element["id"]).clean


def bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="how many workers"):
        audit_shards(D.range(3))
    with pytest.raises(UsageError, match="no end"):
        audit_shards(D.range(3).repeat(), workers=2)
    assert audit_shards([D.range(3).repeat()], limit=3).clean
    broken = D.range(4).map(lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "bad"))
    with pytest.raises(CannotFingerprint, match="raised"):
        audit_shards([broken])
    with pytest.raises(UsageError, match="cannot shard"):
        audit_shards(3, workers=2)


def _noisy(elements: int = 22, batch: int = 8) -> Any:
    """Global batches of shuffled elements with noise of their own; the last one is smaller."""
    ds = D.range(elements).shuffle(elements)
    ds = ds.map(
        lambda n: (n, tf.cast(n, tf.float32) + tf.random.uniform([])),
        num_parallel_calls=4,
        deterministic=False,
    )
    return ds.batch(batch)


def _global_batches(workers: int, epochs: int = 2) -> list[tuple[list[int], list[float]]]:
    """What all workers see together in each step, each of them with a pipeline of its own."""
    mine = [share(twinrun.repeatable(_noisy(), seed=3), index, workers) for index in range(workers)]
    steps = []
    for _ in range(epochs):
        for batches in zip(*mine, strict=True):  # all take the same number of steps
            numbers, noise = (np.concatenate([batch[part] for batch in batches]) for part in (0, 1))
            steps.append((numbers.tolist(), noise.tolist()))
    return steps


def the_global_sequence_does_not_depend_on_the_number_of_workers() -> None:
    alone = _global_batches(1)
    assert [len(numbers) for numbers, _ in alone] == [8, 8, 6] * 2
    assert alone[:3] != alone[3:]  # another epoch
    for workers in (2, 3, 4):
        assert _global_batches(workers) == alone


def a_worker_with_several_replicas_gets_a_piece_for_each() -> None:
    ds = twinrun.repeatable(_noisy(16), seed=1)
    whole = [numbers.numpy().tolist() for numbers, _ in ds]
    for index in (0, 1):
        set_epoch(ds, 0)
        pieces = [numbers.numpy().tolist() for numbers, _ in share(ds, index, 2, replicas=2)]
        first = 4 * index
        assert pieces == [batch[start : start + 2] for batch in whole for start in (first, first + 2)]


def a_share_keeps_the_structure_of_the_elements_and_knows_what_it_was_made_from() -> None:
    ragged = D.range(6).map(lambda n: {"row": tf.range(n), "n": n}).ragged_batch(3)
    for ds in (D.range(6).batch(4), D.range(6).map(lambda n: {"n": n}).batch(4), ragged):
        made = twinrun.repeatable(ds, seed=1)
        mine = share(made, 1, 2)
        assert tf.nest.map_structure(lambda spec: spec.dtype, mine.element_spec) == tf.nest.map_structure(
            lambda spec: spec.dtype, ds.element_spec
        )
        assert sum(len(tf.nest.flatten(batch)[0].numpy().tolist()) for batch in mine) in (3, 4)
        set_epoch(mine, 0)
    policy = mine.options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.OFF


def a_worker_is_known_by_its_tf_config() -> None:
    cluster = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    assert worker_of(None) == (0, 1)
    assert worker_of(json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}})) == (1, 2)
    with_chief = {"cluster": {**cluster, "chief": ["d:1"]}, "task": {"type": "worker", "index": 1}}
    assert worker_of(json.dumps(with_chief)) == (2, 3)
    assert worker_of(json.dumps({**with_chief, "task": {"type": "chief", "index": 0}})) == (0, 3)
    with pytest.raises(UsageError, match="has no share"):
        worker_of(json.dumps({"cluster": cluster, "task": {"type": "ps", "index": 0}}))
    with pytest.raises(UsageError, match="TF_CONFIG cannot be read"):
        worker_of("{")
    before = os.environ.get("TF_CONFIG")
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}})
    try:
        assert [batch.numpy().tolist() for batch in share(twinrun.repeatable(D.range(4).batch(4)))] == [
            [2, 3]
        ]
    finally:
        os.environ.pop("TF_CONFIG")
        if before is not None:
            os.environ["TF_CONFIG"] = before


def what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(UsageError, match="not made by"):
        share(D.range(4).batch(2), 0, 2)
    with pytest.raises(UsageError, match="not batches"):
        share(twinrun.repeatable(D.range(4)), 0, 2)
    ds = twinrun.repeatable(D.range(4).batch(2))
    for index, workers in ((2, 2), (-1, 2), (0, None)):
        with pytest.raises(UsageError, match="share: "):
            share(ds, index, workers)
