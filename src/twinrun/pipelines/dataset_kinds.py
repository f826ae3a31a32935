"""Every dataset op Twinrun knows: what tf.data calls it, and which of them run several calls at once."""

from __future__ import annotations

import re

_KNOWN = """
    AssertCardinality AssertNext AutoShard Batch BatchV2 CSV CSVV2 Cache CacheV2 Concatenate DenseToSparseBatch
    DirectedInterleave ExperimentalAssertNext ExperimentalGroupByReducer Filter Finalize FixedLengthRecord
    FixedLengthRecordV2 FlatMap Generator GlobalShuffle GroupByReducer GroupByWindow IgnoreErrors Interleave
    LegacyParallelInterleaveV2 List Load Map MapAndBatch MatchingFiles MaxIntraOpParallelism Model Options PaddedBatch
    PaddedBatchV2 ParallelBatch ParallelFilter ParallelInterleave ParallelInterleaveV2 ParallelInterleaveV3
    ParallelInterleaveV4 ParallelMap ParallelMapV2 ParseExample ParseExampleV2 Prefetch PrivateThreadPool Random RandomV2
    Range Rebatch RebatchV2 Repeat Scan Shard Shuffle ShuffleAndRepeat ShuffleAndRepeatV2 ShuffleV2 ShuffleV3 Skip
    SnapshotV2 SparseTensorSlice Sql TFRecord TFRecordV2 Take TakeWhile Tensor TensorSlice TextLine Unbatch Unique Window
    Zip
"""
# Ops whose name is not the one of the tf.data method.
_METHODS = {
    "AutoShard": "shard",
    "DirectedInterleave": "choose_from_datasets",
    "Finalize": "options",
    "FixedLengthRecord": "fixed_length_records",
    "Generator": "from_generator",
    "LegacyParallelInterleave": "parallel_interleave",
    "List": "from_list",
    "MatchingFiles": "list_files",
    "MaxIntraOpParallelism": "options",
    "Model": "options",
    "PrivateThreadPool": "options",
    "SparseTensorSlice": "from_sparse_tensor_slices",
    "TFRecord": "tfrecords",
    "Tensor": "from_tensors",
    "TensorSlice": "from_tensor_slices",
    "TextLine": "text_lines",
}
_NUM_PARALLEL_CALLS = re.compile(r"Parallel(Batch|Filter|Map|Interleave)Dataset|MapAndBatch|ParseExample")
_OTHER_PARALLELISM = {"ParallelInterleaveDataset": "", "LegacyParallelInterleaveDatasetV2": "cycle_length"}


def kind_of(op_type: str) -> str:
    """What tf.data calls a dataset op, known or not: `ParallelMapDatasetV2` is `map`, `SleepDataset` is `sleep`."""
    name = re.sub(r"Dataset(V\d+)?$", "", op_type) or op_type
    if name in _METHODS:
        return _METHODS[name]
    if op_type in KNOWN_OPS:
        name = re.sub("^(Parallel|Experimental)", "", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def parallelism_argument(op_type: str) -> str | None:
    """The argument with the number of calls that run at once.

    '' for an op that always runs several, None for one that never does.
    """
    if op_type in _OTHER_PARALLELISM:
        return _OTHER_PARALLELISM[op_type]
    return "num_parallel_calls" if _NUM_PARALLEL_CALLS.match(op_type) else None


KNOWN_OPS = frozenset(re.sub(r"(V\d)?$", r"Dataset\1", name, count=1) for name in _KNOWN.split())
SHUFFLES = frozenset(op for op in KNOWN_OPS if "Shuffle" in op)
RANDOM_SOURCES = frozenset({"RandomDataset", "RandomDatasetV2"})
CACHES = frozenset({"CacheDataset", "CacheDatasetV2"})
