"""Coverage and overlap between workers, counted by element digests."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

from twinrun.errors import NotComparable, UsageError
from twinrun.pipelines import audit_shards, note_sites
from twinrun.pipelines.stream_fingerprint import CannotFingerprint

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
