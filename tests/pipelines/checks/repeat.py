"""What `repeatable` promises: the same stream, other epochs, restarts, the same data."""

from __future__ import annotations

import random
from typing import Any

import example_pipelines
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.framework import config

import twinrun
from twinrun.errors import TwinrunError, UsageError
from twinrun.pipelines import changes, note_sites, set_epoch
from twinrun.pipelines.build_sites import shown_file
from twinrun.pipelines.element_streams import restore_global_streams
from twinrun.pipelines.lifted_graph import NotADataset
from twinrun.pipelines.rewrite_outcome import CannotRewrite
from twinrun.pipelines.serialized_graph import serialized_graph

D = tf.data.Dataset
note_sites()


def _noisy(size: int = 24, calls: int = 4) -> Any:
    ds = D.range(size).shuffle(size)
    ds = ds.map(
        lambda x: tf.cast(x, tf.float64) + tf.random.uniform([], dtype=tf.float64), num_parallel_calls=calls
    )
    return ds.batch(4).prefetch(1)


def _values(dataset: Any) -> list[Any]:
    return [tf.nest.map_structure(lambda one: one.numpy().tolist(), element) for element in dataset]


def epochs_differ_and_come_again_in_a_new_dataset() -> None:
    first, second = (twinrun.repeatable(_noisy(), seed=5) for _ in range(2))
    epochs = [_values(first) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert epochs == [_values(second) for _ in range(3)]
    assert _values(twinrun.repeatable(_noisy(), seed=6)) != epochs[0]


def a_restart_in_the_middle_goes_on_as_it_would_have() -> None:
    whole = twinrun.repeatable(_noisy(), seed=5)
    epochs = [_values(whole) for _ in range(4)]
    restarted = twinrun.repeatable(_noisy(), seed=5, start_epoch=2, skip=3)
    assert _values(restarted) == epochs[2][3:]
    assert _values(restarted) == epochs[3]
    set_epoch(whole, 1)
    assert _values(whole) == epochs[1]
    set_epoch(whole.map(lambda x: x), 3)
    assert _values(whole) == epochs[3]


def an_iterator_can_be_saved_and_restored_in_the_middle() -> None:
    import tempfile

    made = twinrun.repeatable(_noisy(), seed=5)
    iterator = iter(made)
    for _ in range(2):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(tempfile.mkdtemp() + "/saved")
    rest = [next(iterator).numpy().tolist() for _ in range(4)]
    fresh = iter(twinrun.repeatable(_noisy(), seed=5))
    tf.train.Checkpoint(iterator=fresh).read(path)
    assert [next(fresh).numpy().tolist() for _ in range(4)] == rest


def repeat_gives_the_epochs_that_iterating_would() -> None:
    epochs = twinrun.repeatable(D.range(10).shuffle(10), seed=5)
    one_by_one = [value for _ in range(6) for value in _values(epochs)]
    thrice = twinrun.repeatable(D.range(10).shuffle(10).repeat(3), seed=5)
    assert _values(thrice) + _values(thrice) == one_by_one
    endless = twinrun.repeatable(D.range(10).shuffle(10).repeat(), seed=5)
    assert _values(endless.take(60)) == one_by_one
    assert (
        _values(twinrun.repeatable(D.range(10).shuffle(10).repeat(), seed=5, start_epoch=2).take(40))
        == one_by_one[20:]
    )


def an_endless_repetition_of_nothing_ends() -> None:
    ds = D.range(10).filter(lambda x: x > 100).shuffle(4).repeat()
    assert _values(twinrun.repeatable(ds)) == []


def every_element_comes_once_per_epoch() -> None:
    for epoch in range(3):
        made = twinrun.repeatable(_noisy(), seed=5, start_epoch=epoch)
        assert sorted(int(value) for batch in _values(made) for value in batch) == list(range(24))


def draws_are_all_different_and_distributed_as_they_were() -> None:
    def draw(x: Any) -> Any:
        loop = tf.TensorArray(tf.float64, 3)
        for turn in tf.range(3):
            loop = loop.write(turn, tf.random.uniform([], dtype=tf.float64))
        return tf.concat([tf.random.normal([2], dtype=tf.float64), loop.stack()], 0)

    made = twinrun.repeatable(D.range(2000).map(draw, num_parallel_calls=4), seed=1)
    both = np.array(_values(made) + _values(made))
    assert np.unique(both).size == both.size
    normal, uniform = both[:, :2], both[:, 2:]
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05
    assert abs(uniform.mean() - 0.5) < 0.02 and 0 <= uniform.min() < uniform.max() < 1
    assert abs(np.corrcoef(both.T) - np.eye(5)).max() < 0.08
    assert abs(np.corrcoef(both[:-1, 0], both[1:, 0])[0, 1]) < 0.06


def the_original_is_untouched() -> None:
    ds = D.range(16).shuffle(16, seed=1).map(lambda x: x + 1, num_parallel_calls=2, deterministic=False)
    before = sorted(str(serialized_graph(ds)).splitlines())
    spec, options = ds.element_spec, ds.options()
    twinrun.repeatable(ds)
    assert sorted(str(serialized_graph(ds)).splitlines()) == before
    assert (ds.element_spec, ds.options()) == (spec, options)


def number_and_form_of_elements_stay_the_same() -> None:
    for name, builder in {**example_pipelines.RACING, **example_pipelines.FIXED}.items():
        original = builder(2)
        made = twinrun.repeatable(original, seed=1)
        assert made.element_spec == original.element_spec, name
        if name != "shuffle_of_unknown_length_repeated_forever":
            # TensorFlow promises a number that may not come.
            assert made.cardinality() == original.cardinality(), name


def only_the_order_changes_where_only_the_order_was_given_up() -> None:
    names = [name for name in example_pipelines.RACING if "order_given_up" in name]
    assert len(names) == 5
    for name in names:
        made = twinrun.data_fingerprint(twinrun.repeatable(example_pipelines.RACING[name](8), seed=1))
        again = twinrun.data_fingerprint(twinrun.repeatable(example_pipelines.RACING[name](1), seed=2))
        plain = twinrun.data_fingerprint(example_pipelines.RACING[name](2))
        assert made.ordered == again.ordered, name
        if "branch" not in name:  # there the order decides which elements are paired
            assert made.unordered == plain.unordered, name


def what_is_made_is_clean_to_the_audit() -> None:
    for name, builder in example_pipelines.RACING.items():
        audit = twinrun.audit(twinrun.repeatable(builder(4), seed=1))
        assert [one.code for one in audit.findings if one.code != "TW107"] == [], name


def changes_are_listed_with_stage_and_line() -> None:
    made = twinrun.repeatable(example_pipelines.RACING["shuffle_between_cache_and_map"](2), seed=1)
    listed = {change.kind: change for change in changes(made.prefetch(1))}
    assert set(listed) == {"shuffle", "map"}
    assert "seeded from (seed, epoch)" in str(listed["shuffle"])
    assert listed["map"].site is not None and listed["map"].site.file == example_pipelines.__file__
    assert changes(D.range(3)) == ()


def what_cannot_be_rewritten_is_refused_with_stage_and_reason() -> None:
    reasons = {
        "shared_rng_in_parallel_map": "SHARED_RNG",
        "entropy_in_a_map": "os.urandom",
        "candidate_sampler": "UniformCandidateSampler",
        "variable_that_parallel_calls_update": "AssignAddVariableOp",
    }
    assert set(reasons) == set(example_pipelines.REFUSED)
    for name, builder in example_pipelines.REFUSED.items():
        with pytest.raises(CannotRewrite, match=reasons[name]) as caught:
            twinrun.repeatable(builder(4))
        assert caught.value.where is not None
        assert caught.value.where.startswith(shown_file(example_pipelines.__file__))
        assert caught.value.hint
    unknown = tf.raw_ops.SleepDataset(
        input_dataset=D.range(9)._variant_tensor,
        sleep_microseconds=tf.constant(1, tf.int64),
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )
    ds = dataset_ops._VariantDataset(unknown, tf.TensorSpec([], tf.int64))
    with pytest.raises(CannotRewrite, match="sleep"):
        twinrun.repeatable(ds.shuffle(3))


def bad_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="seed must be a whole number"):
        twinrun.repeatable(D.range(3), seed=None)
    with pytest.raises(UsageError, match="start_epoch"):
        twinrun.repeatable(D.range(3), start_epoch=-1)
    with pytest.raises(NotADataset, match="not ndarray"):
        twinrun.repeatable(np.zeros(3))
    with pytest.raises(UsageError, match="not made by"):
        set_epoch(D.range(3), 1)

    @tf.function
    def inside() -> None:
        twinrun.repeatable(D.range(3).shuffle(3))

    with pytest.raises(Exception, match=r"CannotRewrite: the dataset is built inside a tf\.function"):
        inside()  # TensorFlow wraps what a traced function raises


def an_error_in_the_middle_comes_through() -> None:
    ds = D.range(8).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 5, tf.float32), "five"), num_parallel_calls=2
    )
    made = twinrun.repeatable(ds.map(lambda x: x + tf.random.uniform([])), seed=1)
    seen = []
    with pytest.raises(tf.errors.InvalidArgumentError, match="five"):
        for value in made:
            seen.append(value)
    assert len(seen) == 5


def op_determinism_changes_nothing_in_a_repeatable_stream() -> None:
    first = _values(twinrun.repeatable(_noisy(), seed=5))
    tf.random.set_seed(1)
    config.enable_op_determinism()
    try:
        assert _values(twinrun.repeatable(_noisy(), seed=5)) == first
    finally:
        config.disable_op_determinism()
        tf.random.set_seed(None)


def other_threads_keep_their_own_python_streams() -> None:
    def drawn(running: bool) -> list[float]:
        np.random.seed(3)
        random.seed(3)
        made = twinrun.repeatable(example_pipelines.RACING["numpy_in_parallel_map"](4), seed=1)
        found = []
        for _ in made if running else range(64):
            found += [np.random.rand(), random.random()]
        return found

    try:
        assert drawn(True) == drawn(False)
    finally:
        restore_global_streams()
    assert np.random.rand.__self__ is np.random.mtrand._rand


def element_rng_follows_the_element_and_nothing_else() -> None:
    def noise(value: Any) -> Any:
        own = twinrun.element_rng().random()
        return np.array([value + own, twinrun.element_rng(1).random(), twinrun.element_rng(2).random()])

    def built(calls: int) -> Any:
        ds = D.range(32)
        return ds.map(lambda x: tf.numpy_function(noise, [x], tf.float64), num_parallel_calls=calls)

    streams = [_values(twinrun.repeatable(built(calls), seed=9)) for calls in (1, 8)]
    assert streams[0] == streams[1]
    assert np.unique(np.array(streams[0]) % 1).size == 96
    with pytest.raises(TwinrunError, match="no pipeline to take its seed from"):
        twinrun.element_rng(3)
    assert twinrun.element_rng(3, seed=1).random() == twinrun.element_rng(3, seed=1).random()
    assert twinrun.element_rng(3, seed=1).random() != twinrun.element_rng(3, seed=1, epoch=1).random()


def keras_trains_to_the_same_bits_on_a_repeatable_dataset() -> None:
    def trained() -> Any:
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x = np.arange(160, dtype=np.float32).reshape(40, 4) / 160
        ds = D.from_tensor_slices((x, x[:, :1])).shuffle(40)
        ds = ds.map(lambda a, b: (a + tf.random.normal([4]), b), num_parallel_calls=4).batch(8)
        model.fit(twinrun.repeatable(ds, seed=3), epochs=3, verbose=0)
        return [value.tobytes() for value in model.get_weights()]

    try:
        assert trained() == trained()
    finally:
        tf.random.set_seed(None)


def a_strategy_can_distribute_a_repeatable_dataset() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    streams = []
    for _ in range(2):
        distributed = strategy.experimental_distribute_dataset(twinrun.repeatable(_noisy(), seed=5))
        streams.append(
            [
                [one.numpy().tolist() for one in strategy.experimental_local_results(element)]
                for element in distributed
            ]
        )
    assert streams[0] == streams[1]
    assert sorted(int(value) for parts in streams[0] for part in parts for value in part) == list(range(24))


def auto_sharded_workers_share_a_repeatable_dataset_out_cleanly() -> None:
    from twinrun.pipelines import audit_shards

    files = D.list_files(str(example_pipelines.FOLDER / "part-*.txt")).interleave(
        tf.data.TextLineDataset, cycle_length=4
    )
    audit = audit_shards(twinrun.repeatable(files, seed=1), workers=2)
    assert audit.clean and audit.whole == 30


def streams_that_the_event_log_has_wrapped_are_known_and_redirected_too() -> None:
    from twinrun.pipelines.python_draws import host_draws

    restore_global_streams()
    original, noted = np.random.rand, []

    def rand(*sizes: int) -> Any:
        noted.append(sizes)
        return original(*sizes)

    rand.__module__ = "numpy.random"
    np.random.rand = rand
    try:
        assert [draw.kind for draw in host_draws(example_pipelines.noisy)] == ["stream"]
        streams = [
            _values(twinrun.repeatable(example_pipelines.RACING["numpy_in_parallel_map"](calls), seed=1))
            for calls in (1, 4)
        ]
        assert streams[0] == streams[1] and noted == []
    finally:
        restore_global_streams()
        np.random.rand = original
