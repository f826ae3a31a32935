"""How each dataset class of TensorFlow is written down as a raw op. Seen on TensorFlow 2.18 and 2.21."""

from __future__ import annotations

# How a class writes itself down: its op, and the op's arguments where they are not the attribute of the same
# name. `=x` is a value, `f:x` a wrapped function, `d:x` the datasets of an attribute.
DUMMY_SEEDS = {"seed_generator": "=seed_generator"}
RECIPES: dict[str, tuple[str, dict[str, str]]] = {
    "_BatchDataset": ("BatchDatasetV2", {}),
    "_ParallelBatchDataset": ("ParallelBatchDataset", {}),
    "CacheDataset": ("CacheDatasetV2", {"cache": "=memory_cache"}),
    "_ConcatenateDataset": ("ConcatenateDataset", {"another_dataset": "d:_dataset_to_concatenate"}),
    "_DirectedInterleaveDataset": (
        "DirectedInterleaveDataset",
        {"selector_input_dataset": "d:_selector_input", "data_input_datasets": "d:_data_inputs"},
    ),
    "_FilterDataset": ("FilterDataset", {"predicate": "f:_predicate"}),
    "_FlatMapDataset": ("FlatMapDataset", {"f": "f:_map_func"}),
    "_GroupByWindowDataset": (
        "GroupByWindowDataset",
        {
            "key_func": "f:_key_func",
            "reduce_func": "f:_reduce_func",
            "window_size_func": "f:_window_size_func",
        },
    ),
    "_IgnoreErrorsDataset": ("IgnoreErrorsDataset", {"log_warning": "?"}),
    "_InterleaveDataset": ("InterleaveDataset", {"f": "f:_map_func"}),
    "_MapAndBatchDataset": (
        "MapAndBatchDataset",
        {
            "f": "f:_map_func",
            "batch_size": "_batch_size_t",
            "num_parallel_calls": "_num_parallel_calls_t",
            "drop_remainder": "_drop_remainder_t",
            "preserve_cardinality": "=true",
        },
    ),
    "_MapDataset": ("MapDataset", {"f": "f:_map_func"}),
    "_PaddedBatchDataset": (
        "PaddedBatchDatasetV2",
        {"padded_shapes": "=padded_shapes", "padding_values": "=padding_values"},
    ),
    "_OptionsDataset": ("OptionsDataset", {"serialized_options": "=options"}),
    "_ParallelMapDataset": ("ParallelMapDatasetV2", {"f": "f:_map_func"}),
    "_ParallelInterleaveDataset": ("ParallelInterleaveDatasetV4", {"f": "f:_map_func", "deterministic": "?"}),
    "ParallelInterleaveDataset": ("LegacyParallelInterleaveDatasetV2", {"f": "f:_map_func"}),
    "_PrefetchDataset": ("PrefetchDataset", {"slack_period": "?", "legacy_autotune": "?"}),
    "_RepeatDataset": ("RepeatDataset", {}),
    "_ScanDataset": (
        "ScanDataset",
        {
            "f": "f:_scan_func",
            "initial_state": "=state",
            "use_default_device": "?",
            "preserve_cardinality": "=true",
        },
    ),
    "_ShardDataset": ("ShardDataset", {}),
    "_ShuffleDataset": ("ShuffleDatasetV3", DUMMY_SEEDS),
    "_SkipDataset": ("SkipDataset", {}),
    "_TakeDataset": ("TakeDataset", {}),
    "_TakeWhileDataset": ("TakeWhileDataset", {"predicate": "f:_predicate"}),
    "_UnbatchDataset": ("UnbatchDataset", {}),
    "_UniqueDataset": ("UniqueDataset", {}),
    "_WindowDataset": ("WindowDataset", {}),
    "_ZipDataset": ("ZipDataset", {"input_datasets": "d:_datasets"}),
    "_AssertCardinalityDataset": ("AssertCardinalityDataset", {"cardinality": "_expected_cardinality"}),
}
# Attributes that no class keeps and that change neither order nor values: TensorFlow's default serves.
HARMLESS = {
    "parallel_copy",
    "require_non_empty",
    "use_default_device",
    "slack_period",
    "legacy_autotune",
    "buffer_size_min",
    "log_warning",
}
# Sources stay as they are: captured, never written down again. Their class says all there is to know.
SOURCES = {
    "_RangeDataset": "RangeDataset",
    "_TensorDataset": "TensorDataset",
    "_TensorSliceDataset": "TensorSliceDataset",
    "_SparseTensorSliceDataset": "SparseTensorSliceDataset",
    "_TFRecordDataset": "TFRecordDataset",
    "_TextLineDataset": "TextLineDataset",
    "_FixedLengthRecordDataset": "FixedLengthRecordDatasetV2",
    "MatchingFilesDataset": "MatchingFilesDataset",
    "CsvDatasetV2": "CSVDatasetV2",
    "SqlDatasetV2": "SqlDataset",
    "_ListDataset": "ListDataset",
}
