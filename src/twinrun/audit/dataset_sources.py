"""Where datasets come from, and the shuffles on the way (TW201)."""

from __future__ import annotations

from twinrun.audit import calls
from twinrun.audit.call import Call, Handler
from twinrun.audit.dataset import Stages, dataset, stages_of, stages_together
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks
from twinrun.audit.names import last
from twinrun.audit.values import Thing, total
from twinrun.audit.world import NUMPY, PYTHON, TENSORFLOW


def _from_data(call: Call) -> Thing:
    """A dataset made of data in memory: the data reaches training."""
    marks = call.spread
    for value in call.args:
        marks |= total(calls.iterated(call, value)) | total(value)
    call.world.reach_dataset(marks, call.frame, call.node)
    return dataset(frozenset((o, ORDER if mode != VALUE else mode) for o, mode in marks))


def _shuffle_marks(call: Call, seed_position: int | None, stream: str, seed_name: str = "seed") -> Marks:
    """The marks of a shuffle: none when it has a seed or the stream behind it has."""
    if call.given(seed_position, seed_name):
        seed = call.argument(seed_position, seed_name)
        marks = frozenset((o, ORDER) for o, _ in total(seed)) if seed is not None else NONE
    else:
        marks = call.world.draw(stream, "TW201", call.frame, call.node, kind="seed", mode=ORDER)
    call.world.reach_dataset(marks, call.frame, call.node)
    return marks


def shuffled(call: Call) -> Thing:
    receiver = call.receiver or dataset()
    return dataset(total(receiver) | _shuffle_marks(call, 1, TENSORFLOW), stages_of(receiver))


def _list_files(call: Call) -> Thing:
    shuffle = call.argument(1, "shuffle")
    marks = call.marks
    if shuffle is None or shuffle.constant is None or shuffle.constant is True:
        marks |= _shuffle_marks(call, 2, TENSORFLOW)
    call.world.reach_dataset(call.marks, call.frame, call.node)
    return dataset(marks)


def mixed(seed_position: int) -> Handler:
    """Stages that choose at random: sampling from datasets, resampling, a dataset of random numbers."""

    def handler(call: Call) -> Thing:
        marks = call.marks | _shuffle_marks(call, seed_position, TENSORFLOW)
        return dataset(marks | total(call.receiver) if call.receiver else marks, stages_of(call.receiver))

    return handler


def _from_directory(call: Call) -> Thing:
    """`keras.utils.image_dataset_from_directory` and kin: a missing seed comes from NumPy's stream."""
    shuffle = call.argument(None, "shuffle")
    by_default = last(call.path) != "timeseries_dataset_from_array"
    shuffled = by_default if shuffle is None else shuffle.constant is True
    marks = call.marks | (_shuffle_marks(call, None, NUMPY) if shuffled and not call.open else NONE)
    subset = call.argument(None, "subset")
    if subset is not None and subset.constant == "both":
        return Thing("tuple", items=[dataset(marks), dataset(marks)])
    return dataset(marks)


def _split_dataset(call: Call) -> Thing:
    shuffle = call.argument(None, "shuffle")
    marks = call.marks
    if shuffle is not None and shuffle.constant is True:
        marks |= _shuffle_marks(call, None, PYTHON)
    return Thing("tuple", items=[dataset(marks), dataset(marks)])


def _csv(call: Call) -> Thing:
    shuffle = call.argument(None, "shuffle")
    marks = call.marks
    if shuffle is None or shuffle.constant is True:
        marks |= _shuffle_marks(call, None, TENSORFLOW, "shuffle_seed")
    return dataset(marks)


def _tfds_load(call: Call) -> Thing:
    """`tfds.load(shuffle_files=True)` turns `deterministic` off unless a ReadConfig gives a seed."""
    shuffle = call.argument(None, "shuffle_files")
    made = dataset(call.marks, Stages(parallel=True))
    if shuffle is not None and shuffle.constant is True and not call.given(None, "read_config"):
        made.marks |= unordered(call)
    split = call.argument(1, "split")
    whole = made
    if split is not None and split.items:
        whole = Thing("list", items=[made.copied() for _ in split.items])
    with_info = call.argument(None, "with_info")
    if with_info is not None and with_info.constant is True:
        return Thing("tuple", items=[whole, Thing("object", path="tensorflow_datasets.info")])
    return whole


def unordered(call: Call) -> Marks:
    """The order is given up here (TW202)."""
    marks = frozenset({(call.world.origin("TW202", call.frame, call.node), ORDER)})
    call.world.reach_dataset(marks, call.frame, call.node)
    return marks


def _combined(call: Call) -> Thing:
    """Datasets put together: zipped, or chosen from by another."""
    return dataset(call.marks, stages_together(call.everything))


_DATASET = "tensorflow.data.Dataset."
FUNCTIONS: dict[str, Handler] = {
    f"{_DATASET}from_tensor_slices": _from_data,
    f"{_DATASET}from_tensors": _from_data,
    f"{_DATASET}range": lambda call: dataset(call.marks),
    f"{_DATASET}list_files": _list_files,
    f"{_DATASET}zip": _combined,
    f"{_DATASET}choose_from_datasets": _combined,
    f"{_DATASET}sample_from_datasets": mixed(2),
    f"{_DATASET}random": mixed(0),
    f"{_DATASET}load": _from_data,
    "tensorflow.data.TFRecordDataset": _from_data,
    "tensorflow.data.TextLineDataset": _from_data,
    "tensorflow.data.FixedLengthRecordDataset": _from_data,
    "tensorflow.data.experimental.CsvDataset": _from_data,
    "tensorflow.data.experimental.make_csv_dataset": _csv,
    "tensorflow.data.Options": lambda call: Thing("object", path="tensorflow.data.Options"),
    "keras.utils.image_dataset_from_directory": _from_directory,
    "keras.utils.text_dataset_from_directory": _from_directory,
    "keras.utils.audio_dataset_from_directory": _from_directory,
    "keras.utils.timeseries_dataset_from_array": _from_directory,
    "keras.utils.split_dataset": _split_dataset,
    "tensorflow_datasets.load": _tfds_load,
}
