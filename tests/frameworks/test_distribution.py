"""What TensorFlow says of a cluster, of shares of data and of directories, asked without training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.distribute import input_ops
from tensorflow.python.lib.io import _pywrap_file_io

from twinrun.frameworks.keras.patches import _fit
from twinrun.frameworks.tensorflow import TensorFlow
from twinrun.frameworks.tensorflow.replicas import _place
from twinrun.frameworks.tensorflow.sources.shards import Shards
from twinrun.frameworks.tensorflow.sources.strategies import Strategies, _reduction
from twinrun.frameworks.tensorflow.sources.tf_listings import TfListings

Recorded = list[tuple[Any, ...]]


@pytest.mark.parametrize(
    ("task", "number"), [(("worker", 0), 1), (("chief", 0), 0), (("evaluator", 0), None), (("ps", 0), None)]
)
def test_a_task_that_does_not_train_is_no_worker(task: tuple[str, int], number: int | None) -> None:
    jobs = {"chief": ["a:1"], "worker": ["b:1"], "evaluator": ["c:1"], "ps": ["d:1"]}
    resolver = SimpleNamespace(
        task_type=task[0], task_id=task[1], cluster_spec=lambda: tf.train.ClusterSpec(jobs)
    )
    place = _place(SimpleNamespace(cluster_resolver=resolver))
    assert place == ("a:1,b:1" if number is not None else "", number)


def test_the_collective_of_mirrored_replicas_has_its_implementation() -> None:
    ops = tf.distribute.MirroredStrategy(["/cpu:0"]).extended._cross_device_ops
    assert _reduction(ops) == "CollectiveAllReduce (RING)"
    assert _reduction(tf.distribute.ReductionToOneDevice()) == "ReductionToOneDevice"


@pytest.fixture
def session() -> Iterator[SimpleNamespace]:
    """As much of a session as a source asks, and what is recorded there."""
    recorded: Recorded = []
    inputs: Recorded = []
    log = SimpleNamespace(
        record=lambda source, action, who, call, *_, **__: recorded.append((source, action, who, call)),
        frozen=lambda *_: None,
    )
    listed = SimpleNamespace(record_listing=lambda *given: inputs.append(given))
    yield SimpleNamespace(varied={}, log=log, inputs=listed, recorder=None, recorded=recorded, listed=inputs)


def wrapped(source: Any, place: str, session: Any, original: Any) -> Any:
    return next(point for point in source.points if point.place.endswith(place)).wrap(session, original)


Make = Callable[[tf.data.Dataset], tf.data.Dataset]


@pytest.mark.parametrize(
    ("policy", "make", "call"),
    [
        ("OFF", lambda data: data, "auto_shard_policy OFF"),
        ("DATA", lambda data: data, "auto_shard_policy DATA"),
        ("AUTO", lambda data: data.batch(2), "auto_shard_policy AUTO, which is DATA here"),
        ("AUTO", tf.data.TFRecordDataset, "auto_shard_policy AUTO, which is FILE here"),
        (
            "AUTO",
            lambda data: data.interleave(tf.data.TextLineDataset).batch(2),
            "auto_shard_policy AUTO, which is FILE here",
        ),
    ],
)
def test_the_policy_by_which_a_strategy_shares_is_recorded(
    session: SimpleNamespace, policy: str, make: Make, call: str
) -> None:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    data = make(tf.data.Dataset.from_tensor_slices(["one", "other"])).with_options(options)
    share = wrapped(Shards(), ":auto_shard_dataset", session, input_ops.auto_shard_dataset)
    share(data, 2, 0, 2)
    ((source, action, who, named),) = session.recorded
    assert (source, action, named) == ("shards", "auto-shard", call)
    assert who is not None and Path(who.file) == Path(__file__)


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_parameter_servers_leave_no_run_to_repeat(session: SimpleNamespace, version: str) -> None:
    session.recorder = SimpleNamespace(unrepeatable=None)
    made = []
    place = f":ParameterServerStrategy{version}.__init__"
    init = wrapped(Strategies(), place, session, lambda *given: made.append(given))
    init("strategy", "resolver")
    assert made == [("strategy", "resolver")]
    assert session.recorder.unrepeatable.startswith(f"ParameterServerStrategy ({__file__}:")


@pytest.mark.parametrize(("workers", "noted"), [(2, True), (1, False), (None, False)])
def test_fit_of_keras_3_with_several_workers_has_a_note(workers: int | None, noted: bool) -> None:
    notes: list[str] = []
    observer: Any = SimpleNamespace(recorder=SimpleNamespace(note=notes.append))
    extended = SimpleNamespace() if workers is None else SimpleNamespace(_num_workers=workers)
    model = SimpleNamespace(distribute_strategy=SimpleNamespace(extended=extended))
    assert _fit(observer)(lambda _, x, epochs: (x, epochs), model, "data", epochs=3) == ("data", 3)
    assert [("tf_keras" in note, "strategy.run" in note) for note in notes] == [(True, True)] * noted


@pytest.fixture
def patched(session: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    for name in ("GetChildren", "GetMatchingFiles"):
        original = getattr(_pywrap_file_io, name)
        monkeypatch.setattr(_pywrap_file_io, name, wrapped(TfListings(), f":{name}", session, original))
    return session


@pytest.mark.parametrize(
    ("listed", "call"),
    [
        (tf.io.gfile.listdir, "tf.io.gfile.listdir"),
        (lambda folder: next(iter(tf.io.gfile.walk(folder)))[2], "tf.io.gfile.walk"),
        (
            lambda folder: [Path(path).name for path in tf.io.gfile.glob(f"{folder}/*")],
            "tf.io.gfile.glob",
        ),
    ],
)
def test_listings_of_gfile_are_those_of_a_directory(
    patched: SimpleNamespace, tmp_path: Path, listed: Callable[[str], list[str]], call: str
) -> None:
    names = ["b", "d", "a", "c"]
    for name in names:
        (tmp_path / name).touch()
    assert sorted(listed(str(tmp_path))) == sorted(names)
    ((source, action, who, named),) = patched.recorded
    assert (source, action, named) == ("file-listing", "list", call)
    assert who is not None and (Path(who.file), who.via) == (Path(__file__), "")
    if call != "tf.io.gfile.glob":  # which may leave out some of what is there
        assert [Path(folder) for folder, _ in patched.listed] == [tmp_path]
    patched.varied["fileorder"] = "reversed"
    assert listed(str(tmp_path)) == sorted(names, reverse=True)
    patched.varied.clear()
    patched.log.frozen = lambda *_: 0
    assert listed(str(tmp_path)) == sorted(names)


def test_what_every_machine_without_a_gpu_logs_is_no_last_line() -> None:
    no_gpu = "E0000 00:00:1795121621.634642   26806 cuda_platform.cc:52] failed call to cuInit: UNKNOWN ERROR (303)"
    assert TensorFlow().is_log_noise(no_gpu)
    assert not TensorFlow().is_log_noise("E0000 00:00:1795121621.634642   26806 check.cc:52] out of memory")
