"""Every dataset op Twinrun knows: the word a user has for it, and how it can run."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """`parallel`: the op's argument that says how many calls run at once ('' when it always runs several)."""

    word: str
    source: bool = False
    parallel: str | None = None
    functions: tuple[str, ...] = ()


def _kinds() -> dict[str, Kind]:
    plain = {
        "batch": ("BatchDataset", "BatchDatasetV2"),
        "cache": ("CacheDataset", "CacheDatasetV2"),
        "concatenate": ("ConcatenateDataset",),
        "choose_from_datasets": ("DirectedInterleaveDataset",),
        "dense_to_sparse_batch": ("DenseToSparseBatchDataset",),
        "assert_cardinality": ("AssertCardinalityDataset",),
        "assert_next": ("AssertNextDataset", "ExperimentalAssertNextDataset"),
        "global_shuffle": ("GlobalShuffleDataset",),
        "ignore_errors": ("IgnoreErrorsDataset",),
        "options": (
            "OptionsDataset",
            "FinalizeDataset",
            "MaxIntraOpParallelismDataset",
            "PrivateThreadPoolDataset",
            "ModelDataset",
        ),
        "padded_batch": ("PaddedBatchDataset", "PaddedBatchDatasetV2"),
        "prefetch": ("PrefetchDataset",),
        "rebatch": ("RebatchDataset", "RebatchDatasetV2"),
        "repeat": ("RepeatDataset",),
        "shard": ("ShardDataset", "AutoShardDataset"),
        "shuffle": ("ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3"),
        "shuffle_and_repeat": ("ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"),
        "skip": ("SkipDataset",),
        "take": ("TakeDataset",),
        "unbatch": ("UnbatchDataset",),
        "unique": ("UniqueDataset",),
        "window": ("WindowDataset",),
        "zip": ("ZipDataset",),
    }
    sources = {
        "csv": ("CSVDataset", "CSVDatasetV2"),
        "fixed_length_records": ("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"),
        "from_list": ("ListDataset",),
        "from_sparse_tensor_slices": ("SparseTensorSliceDataset",),
        "from_tensor_slices": ("TensorSliceDataset",),
        "from_tensors": ("TensorDataset",),
        "list_files": ("MatchingFilesDataset",),
        "random": ("RandomDataset", "RandomDatasetV2"),
        "range": ("RangeDataset",),
        "sql": ("SqlDataset",),
        "text_lines": ("TextLineDataset",),
        "tfrecords": ("TFRecordDataset", "TFRecordDatasetV2"),
    }
    table = {op: Kind(word) for word, ops in plain.items() for op in ops}
    table |= {op: Kind(word, source=True) for word, ops in sources.items() for op in ops}
    calls = "num_parallel_calls"
    table |= {
        "ParallelBatchDataset": Kind("batch", parallel=calls),
        "FilterDataset": Kind("filter", functions=("predicate",)),
        "ParallelFilterDataset": Kind("filter", parallel=calls, functions=("predicate",)),
        "FlatMapDataset": Kind("flat_map", functions=("f",)),
        "GeneratorDataset": Kind(
            "from_generator", source=True, functions=("init_func", "next_func", "finalize_func")
        ),
        "GroupByReducerDataset": Kind(
            "group_by_reducer", functions=("key_func", "init_func", "reduce_func", "finalize_func")
        ),
        "ExperimentalGroupByReducerDataset": Kind(
            "group_by_reducer", functions=("key_func", "init_func", "reduce_func", "finalize_func")
        ),
        "GroupByWindowDataset": Kind(
            "group_by_window", functions=("key_func", "reduce_func", "window_size_func")
        ),
        "InterleaveDataset": Kind("interleave", functions=("f",)),
        "ParallelInterleaveDataset": Kind("interleave", parallel="", functions=("f",)),
        "ParallelInterleaveDatasetV2": Kind("interleave", parallel=calls, functions=("f",)),
        "ParallelInterleaveDatasetV3": Kind("interleave", parallel=calls, functions=("f",)),
        "ParallelInterleaveDatasetV4": Kind("interleave", parallel=calls, functions=("f",)),
        "LegacyParallelInterleaveDatasetV2": Kind(
            "parallel_interleave", parallel="cycle_length", functions=("f",)
        ),
        "LoadDataset": Kind("load", source=True, functions=("reader_func",)),
        "MapAndBatchDataset": Kind("map_and_batch", parallel=calls, functions=("f",)),
        "MapDataset": Kind("map", functions=("f",)),
        "ParallelMapDataset": Kind("map", parallel=calls, functions=("f",)),
        "ParallelMapDatasetV2": Kind("map", parallel=calls, functions=("f",)),
        "ParseExampleDataset": Kind("parse_example", parallel=calls),
        "ParseExampleDatasetV2": Kind("parse_example", parallel=calls),
        "ScanDataset": Kind("scan", functions=("f",)),
        "SnapshotDatasetV2": Kind("snapshot", functions=("reader_func", "shard_func")),
        "TakeWhileDataset": Kind("take_while", functions=("predicate",)),
    }
    return table


KINDS = _kinds()


def kind_of(op_type: str) -> Kind | None:
    return KINDS.get(op_type)


def word_of(op_type: str) -> str:
    """A readable word for any dataset op, known or not: `SleepDataset` is `sleep`."""
    known = KINDS.get(op_type)
    if known is not None:
        return known.word
    bare = re.sub(r"Dataset(V\d+)?$", "", op_type) or op_type
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", bare).lower()
