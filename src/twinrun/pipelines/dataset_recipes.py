"""How each dataset class of TensorFlow becomes a raw op. Tested with TensorFlow 2.18 and 2.21."""

from __future__ import annotations

# Classes `_XDataset` whose op is `XDataset`.
_SAME_NAME = """
    AssertCardinality Concatenate DirectedInterleave Filter FlatMap GroupByWindow IgnoreErrors Interleave Map
    MapAndBatch Options ParallelBatch Prefetch Repeat Scan Shard Skip Take TakeWhile Unbatch Unique Window Zip
"""
_SOURCES_OF_SAME_NAME = "List Range SparseTensorSlice TFRecord Tensor TensorSlice TextLine"
OPS = {f"_{name}Dataset": f"{name}Dataset" for name in _SAME_NAME.split()} | {
    "CacheDataset": "CacheDatasetV2",
    "ParallelInterleaveDataset": "LegacyParallelInterleaveDatasetV2",
    "_BatchDataset": "BatchDatasetV2",
    "_PaddedBatchDataset": "PaddedBatchDatasetV2",
    "_ParallelInterleaveDataset": "ParallelInterleaveDatasetV4",
    "_ParallelMapDataset": "ParallelMapDatasetV2",
    "_ShuffleDataset": "ShuffleDatasetV3",
}
# Sources are captured as they are, never written again: their class is all that is needed.
SOURCES = {f"_{name}Dataset": f"{name}Dataset" for name in _SOURCES_OF_SAME_NAME.split()} | {
    "CsvDatasetV2": "CSVDatasetV2",
    "MatchingFilesDataset": "MatchingFilesDataset",
    "SqlDatasetV2": "SqlDataset",
    "_FixedLengthRecordDataset": "FixedLengthRecordDatasetV2",
}
# Where an op's argument comes from when it is not the object's attribute of the same name (`_count` for `count`):
# `=x` is a value, `d:x` the datasets of an attribute, `?` nothing the object keeps.
_RULES = {
    "another_dataset": "d:_dataset_to_concatenate",
    "cache": "=memory_cache",
    "cardinality": "_expected_cardinality",
    "data_input_datasets": "d:_data_inputs",
    "f": "_map_func",
    "initial_state": "=state",
    "input_datasets": "d:_datasets",
    "legacy_autotune": "?",
    "log_warning": "?",
    "padded_shapes": "=padded_shapes",
    "padding_values": "=padding_values",
    "rerandomize_each_iteration": "_rerandomize",
    "seed_generator": "=seed_generator",
    "selector_input_dataset": "d:_selector_input",
    "serialized_options": "=options",
    "slack_period": "?",
    "use_default_device": "?",
}
_RULES_OF_ONE_CLASS = {
    ("_MapAndBatchDataset", "batch_size"): "_batch_size_t",
    ("_MapAndBatchDataset", "drop_remainder"): "_drop_remainder_t",
    ("_MapAndBatchDataset", "num_parallel_calls"): "_num_parallel_calls_t",
    ("_MapAndBatchDataset", "preserve_cardinality"): "=true",
    ("_ParallelInterleaveDataset", "deterministic"): "?",
    ("_ScanDataset", "f"): "_scan_func",
    ("_ScanDataset", "preserve_cardinality"): "=true",
}
# Attributes that no class keeps and that change neither order nor values: TensorFlow's default will do.
_DEFAULTED = "parallel_copy require_non_empty use_default_device slack_period legacy_autotune buffer_size_min log_warning"
DEFAULTED = frozenset(_DEFAULTED.split())


def rule_for(class_name: str, argument: str) -> str:
    return _RULES_OF_ONE_CLASS.get((class_name, argument)) or _RULES.get(argument, "_" + argument)
