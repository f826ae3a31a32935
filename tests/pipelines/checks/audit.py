"""What the audit reports about pipelines: stages, order, randomness, findings at the user's line."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import example_pipelines
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.framework import config

import twinrun
from twinrun.pipelines import build_sites
from twinrun.pipelines.lifted_graph import lift
from twinrun.pipelines.op_arguments import argument
from twinrun.pipelines.pipeline_stages import read
from twinrun.pipelines.serialized_graph import serialized_graph

D = tf.data.Dataset
build_sites.note_sites()
EVERYTHING = {**example_pipelines.RACING, **example_pipelines.FIXED, **example_pipelines.REFUSED}


def _marked(builder: Any) -> list[tuple[str, int]]:
    """(code, line) for every marked statement of a builder."""
    source, start = inspect.getsourcelines(builder)
    statements = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse("".join(source)))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)
    ]
    found = []
    for number, line in enumerate(source, 1):
        if "#!" in line:
            first = max(begin for begin, end in statements if begin <= number <= end)
            found += [(code, start + first - 1) for code in line.split("#!")[1].split()]
    return sorted(found)


@functools.cache
def _audited(name: str) -> Any:
    """The audit of a pipeline of the corpus, made once for all that is asked of it."""
    return twinrun.audit(EVERYTHING[name](4))


def every_pipeline_has_exactly_the_findings_it_is_marked_with() -> None:
    apart = {}
    assert len(EVERYTHING) >= 40
    for name, builder in EVERYTHING.items():
        found = sorted((one.code, one.line or 0) for one in _audited(name).findings)
        if found != _marked(builder):
            apart[name] = (found, _marked(builder))
    assert apart == {}


def findings_carry_the_file_the_evidence_and_a_fix() -> None:
    for name in example_pipelines.RACING:
        for one in _audited(name).findings:
            assert one.file == example_pipelines.__file__
            assert one.message and one.evidence and one.fix
            assert not one.confirmed


def pipelines_that_repeat_have_no_stage_in_doubt() -> None:
    doubtful = {}
    for name in example_pipelines.FIXED:
        stages = _audited(name).stages
        words = {(stage.order, stage.randomness) for stage in stages}
        if not words <= {("deterministic", "none"), ("deterministic", "seeded")}:
            doubtful[name] = words
    assert doubtful == {}


def every_racing_pipeline_has_a_stage_to_blame() -> None:
    for name in example_pipelines.RACING:
        stages = _audited(name).stages
        assert any(
            stage.order == "nondeterministic" or stage.randomness in ("racing", "unseeded")
            for stage in stages
        ), name


def the_lifted_graph_is_the_one_tensorflow_writes() -> None:
    """Op for op, with the attributes that decide: what we read is what TensorFlow would run."""
    compared = 0
    for name, builder in {**example_pipelines.RACING, **example_pipelines.FIXED}.items():
        dataset = builder(4)
        ours = _counted(_lifted(lift(dataset)))
        theirs = _counted(_written(serialized_graph(dataset)))
        for key, count in theirs.items():
            assert key in ours, (name, key, ours)
            # a dataset that is used twice is written twice by TensorFlow, and once by us
            assert ours[key] == count or (name in _SHARED and ours[key] < count), (
                name,
                key,
                ours[key],
                count,
            )
            compared += 1
    assert compared > 100


_IS_DATASET = re.compile(r"Dataset(V\d+)?$")
_DECIDE = ("deterministic", "reshuffle_each_iteration", "preserve_cardinality", "stop_on_empty_dataset")
_SOURCES = ("RangeDataset", "TensorSliceDataset", "TensorDataset", "TFRecordDataset", "TextLineDataset")
_SHARED = ("the_same_dataset_twice", "unseeded_resampling", "unseeded_sampling", "seeded_sampling")


def _lifted(lifted: Any) -> list[Any]:
    """(op, attributes that decide, arguments that are numbers) of every stage but the sources."""
    return [
        (op.type, {name: argument(op, name) for name in _DECIDE if _has(op, name)}, _numbers(op))
        for op in lifted.graph.get_operations()
        if _IS_DATASET.search(op.type) and op.type not in _SOURCES
    ]


def _has(op: Any, name: str) -> bool:
    return any(attr.name == name for attr in op.op_def.attr)


def _numbers(op: Any) -> list[str]:
    values = (tf.get_static_value(one) for one in op.inputs if one.dtype in (tf.int64, tf.bool))
    return sorted(str(value.item()) for value in values if value is not None and value.size == 1)


def _written(graph: Any) -> list[Any]:
    values = {}
    for node in graph.node:
        if node.op == "Const" and node.attr["dtype"].type in (
            tf.int64.as_datatype_enum,
            tf.bool.as_datatype_enum,
        ):
            values[node.name] = tf.make_ndarray(node.attr["value"].tensor)
    found = []
    for node in graph.node:
        if _IS_DATASET.search(node.op) and node.op not in _SOURCES:
            deciding = {
                name: node.attr[name].s.decode() or node.attr[name].b for name in _DECIDE if name in node.attr
            }
            numbers = [
                str(values[one].item()) for one in node.input if one in values and values[one].size == 1
            ]
            found.append((node.op, deciding, sorted(numbers)))
    return found


def _counted(ops: list[Any]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for op, deciding, numbers in ops:
        # of an interleave, TensorFlow writes down what it took for AUTOTUNE on this machine
        kept = () if op.startswith("ParallelInterleave") else tuple(numbers)
        key = (op, tuple(sorted(deciding.items())), kept)
        found[key] = found.get(key, 0) + 1
    return found


def noting_lines_changes_no_graph() -> None:
    def graph() -> list[str]:
        ds = D.range(9).shuffle(3, seed=1).map(lambda x: x + 1, num_parallel_calls=2).batch(2)
        return sorted(re.sub(r"[_:]\d+", "", str(serialized_graph(ds))).splitlines())

    noted = graph()
    build_sites.forget_sites()
    try:
        plain = graph()
        assert twinrun.audit(D.range(3).shuffle(2)).findings[0].place is None
    finally:
        build_sites.note_sites()
    assert noted == plain, [pair for pair in zip(noted, plain, strict=False) if pair[0] != pair[1]]


def an_audit_takes_no_seed_and_draws_nothing() -> None:
    def drawn(audited: bool) -> list[float]:
        tf.random.set_seed(5)
        ds = D.range(8).shuffle(8).map(lambda x: tf.random.uniform([]))
        if audited:
            twinrun.audit(ds)
        after = [float(tf.random.uniform([])), *(float(value) for value in ds), float(tf.random.uniform([]))]
        return after + [float(value) for value in D.range(4).shuffle(4)]

    try:
        assert drawn(True) == drawn(False)
    finally:
        tf.random.set_seed(None)


def a_global_seed_seeds_shuffles_and_ops() -> None:
    tf.random.set_seed(3)
    try:
        ds = D.range(9).shuffle(9).map(lambda x: tf.random.uniform([]))
        assert twinrun.audit(ds).findings == ()
        raced = twinrun.audit(D.range(9).map(lambda x: tf.random.uniform([]), num_parallel_calls=2))
        assert [one.code for one in raced.findings] == ["TW203"]
    finally:
        tf.random.set_seed(None)


def a_seed_that_comes_after_the_pipeline_is_found_to_be_too_late() -> None:
    ds = D.range(9).shuffle(9).map(lambda x: tf.random.uniform([]))
    assert [one.code for one in twinrun.audit(ds).findings] == ["TW201", "TW104"]
    tf.random.set_seed(3)
    try:
        found = twinrun.audit(ds).findings
    finally:
        tf.random.set_seed(None)
    assert [one.code for one in found] == ["TW106", "TW106"]


def in_a_process_watched_from_its_start_an_unseeded_python_stream_is_known() -> None:
    from twinrun.twin.session import current

    ds = D.range(9).map(
        lambda x: tf.py_function(example_pipelines.jittered, [tf.cast(x, tf.float64)], tf.float64)
    )
    assert twinrun.audit(ds).findings == ()  # here nobody knows
    session = current().pins
    before = session.launched, session.watching, dict(session.seedings)
    try:
        session.launched = session.watching = True
        session.seedings.pop("python-random", None)
        assert [one.code for one in twinrun.audit(ds).findings] == ["TW204"]
        session.seeded("python-random", 3)
        assert twinrun.audit(ds).findings == ()
    finally:
        session.launched, session.watching, session.seedings = before


def op_determinism_takes_races_and_lost_order_away() -> None:
    ds = D.range(9).map(lambda x: tf.random.uniform([], seed=1), num_parallel_calls=4, deterministic=False)
    assert [one.code for one in twinrun.audit(ds).findings] == ["TW202", "TW203"]
    config.enable_op_determinism()
    try:
        audit = twinrun.audit(ds)
    finally:
        config.disable_op_determinism()
    assert audit.findings == ()
    assert "one call at a time" in " ".join(audit.stages[-1].notes)


def one_parallel_call_is_no_race() -> None:
    ds = D.range(9).map(lambda x: tf.random.uniform([], seed=1), num_parallel_calls=1)
    assert twinrun.audit(ds).findings == ()


def large_arrays_are_not_copied() -> None:
    data = np.zeros((300, 1 << 20), np.uint8)
    ds = D.from_tensor_slices(data).shuffle(10).map(lambda x: x + 1, num_parallel_calls=2).batch(2)
    seconds = []  # of this thread: other threads of TensorFlow's may still be at work
    for _ in range(3):
        start = time.thread_time()
        audit = twinrun.audit(ds)
        seconds.append(time.thread_time() - start)
    assert min(seconds) < 0.5
    assert [one.code for one in audit.findings] == ["TW201"]
    # an interleave does not keep whether it gave up its order, and TensorFlow's own graph would copy 300 MB
    unread = twinrun.audit(ds.interleave(D.from_tensors, num_parallel_calls=2, deterministic=False))
    assert unread.stages[-1].order == "unknown"
    assert "300 MB" in " ".join(unread.stages[-1].notes)
    assert [one.code for one in unread.findings] == ["TW201"]  # the rest is still read


def a_stage_that_is_not_known_is_reported_as_unknown() -> None:
    source = D.range(9)
    variant = tf.raw_ops.SleepDataset(
        input_dataset=source._variant_tensor,
        sleep_microseconds=tf.constant(1, tf.int64),
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )
    ds = dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64)).batch(3)
    stage = next(stage for stage in twinrun.audit(ds).stages if stage.kind == "sleep")
    assert (stage.order, stage.randomness, stage.known) == ("unknown", "unknown", False)
    assert twinrun.audit(ds).findings == ()


def a_dataset_inside_a_tf_function_can_be_audited() -> None:
    found = []

    @tf.function
    def step(limit: Any) -> Any:
        ds = D.range(limit).shuffle(8).map(lambda x: x + 1, num_parallel_calls=2, deterministic=False)
        found.append(twinrun.audit(ds))
        return ds.reduce(tf.constant(0, tf.int64), lambda total, x: total + x)

    step(tf.constant(9, tf.int64))
    assert sorted(one.code for one in found[0].findings) == ["TW201", "TW202"]


def datasets_that_a_function_captures_are_part_of_the_pipeline() -> None:
    inner = D.range(4)
    inner = inner.shuffle(4)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    audit = twinrun.audit(D.range(3).flat_map(lambda _: inner))
    assert [(one.code, one.line) for one in audit.findings] == [("TW201", line)]
    assert [stage.number for stage in audit.stages] == ["1", "2.1", "2.2", "2"]


def what_a_restart_does_to_a_shuffle_is_noted_and_found_where_programs_resume() -> None:
    ds = D.range(9).shuffle(9, seed=1)
    assert "after a restart" in " ".join(twinrun.audit(ds).stages[-1].notes)
    assert twinrun.audit(ds).findings == ()
    assert [one.code for one in twinrun.audit(ds, resumes=True).findings] == ["TW207"]
    assert (
        twinrun.audit(D.range(9).shuffle(9, seed=1, reshuffle_each_iteration=False), resumes=True).findings
        == ()
    )


def a_small_shuffle_buffer_is_noted_with_its_numbers() -> None:
    notes = " ".join(twinrun.audit(D.range(100).shuffle(10, seed=1)).stages[-1].notes)
    assert "10 over 100" in notes
    assert "over" not in " ".join(twinrun.audit(D.range(100).shuffle(100, seed=1)).stages[-1].notes)


def an_interleave_without_a_cycle_length_is_noted_to_follow_the_machine() -> None:
    ds = D.range(4).interleave(D.range, num_parallel_calls=2)
    assert "the order changes with the machine" in " ".join(twinrun.audit(ds).stages[-1].notes)


def file_names_in_listing_order_are_found_and_sorted_ones_are_not() -> None:
    folder = Path(tempfile.mkdtemp())
    for number in range(40):
        (folder / f"{(number * 7919) % 1000:03}-{number}.txt").write_text("x")
    with os.scandir(folder) as listing:
        listed = [str(folder / entry.name) for entry in listing]
    if listed == sorted(listed):
        pytest.skip("this file system lists files in sorted order")
    assert [one.code for one in twinrun.audit(D.from_tensor_slices(listed)).findings] == ["TW302"]
    assert twinrun.audit(D.from_tensor_slices(sorted(listed))).findings == ()
    assert twinrun.audit(D.from_tensor_slices(sorted(listed)[::-1])).findings == ()
    made = twinrun.repeatable(D.from_tensor_slices((listed, list(range(40)))), seed=1)
    assert [(name.numpy().decode(), int(label)) for name, label in made] == sorted(
        zip(listed, range(40), strict=True)
    )


def an_audit_is_drawn_as_text_and_as_html() -> None:
    ds = (
        D.range(9)
        .shuffle(9)
        .map(lambda x: tf.random.uniform([]), num_parallel_calls=tf.data.AUTOTUNE)
        .batch(3)
    )
    audit = twinrun.audit(ds)
    text = str(audit)
    assert (
        "map(num_parallel_calls=AUTOTUNE" in text
        and "racing" in text
        and "TW203" in text
        and build_sites.shown_file(__file__) in text
    )
    html = audit._repr_html_()
    assert "<table>" in html and "racing" in html and "<lambda>" not in html


def stages_know_their_inputs_and_where_they_are() -> None:
    ds = D.zip((D.range(3), D.range(3))).interleave(lambda a, b: D.range(a).map(lambda x: x + b))
    stages = {stage.number: stage for stage in read(ds).stages}
    assert stages["3"].inputs == ("1", "2")
    assert stages["4"].inputs == ("3",)
    assert stages["4.2"].inputs == ("4.1",) and stages["4.2"].inside == "4"


def something_else_than_a_dataset_is_refused() -> None:
    with pytest.raises(twinrun.errors.UsageError, match="nothing to audit"):
        twinrun.audit("a string")


def a_shuffle_that_parallel_calls_share_is_a_race() -> None:
    inner = D.range(4).shuffle(4, seed=1)
    ds = D.range(8).interleave(lambda _: inner, cycle_length=4, num_parallel_calls=4)
    assert [one.code for one in twinrun.audit(ds).findings] == ["TW203"]
    assert twinrun.audit(D.range(8).flat_map(lambda _: inner)).findings == ()
    with pytest.raises(twinrun.errors.TwinrunError, match="uses a dataset from outside that draws"):
        twinrun.repeatable(ds)
