"""The audit of a real input pipeline: each stage's order and randomness, and findings at the user's lines.

The dataset's graph shows how every stage runs; nothing is iterated. What the graph does not show is `unknown`,
never guessed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.audit_report import DataAudit
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.classify_stages import Conditions, classified
from twinrun.pipelines.keras_classes import is_a
from twinrun.pipelines.keras_inputs import audit_keras_input
from twinrun.pipelines.pipeline_rules import findings_of
from twinrun.pipelines.pipeline_stages import read


@unconverted
def audit(
    data: Any,
    *,
    shuffle: bool | None = None,
    workers: int | None = None,
    use_multiprocessing: bool | None = None,
    resumes: bool = False,
) -> DataAudit:
    """Audit a tf.data dataset, or anything else that Keras trains on: arrays, generators, loaders, layers.

    `shuffle` is what `fit` will be given for arrays and PyDatasets; `workers` and `use_multiprocessing` what
    tf_keras' `fit` will be given for a Sequence (a PyDataset of Keras 3 has its own). `resumes`: the program
    continues interrupted runs, so that an order that is not restored becomes a finding (TW207).
    """
    from tensorflow.python.data.ops import dataset_ops

    if isinstance(data, dataset_ops.DatasetV2):
        return audit_dataset(data, resumes=resumes)
    if _is_arrays(data):
        return _audit_arrays(data, shuffle is not False)
    return audit_keras_input(data, shuffle=shuffle, workers=workers, use_multiprocessing=use_multiprocessing)


@unconverted
def audit_dataset(dataset: Any, *, resumes: bool = False) -> DataAudit:
    """Audit a tf.data dataset."""
    pipeline = read(dataset)
    conditions = Conditions.now(dataset, resumes=resumes)
    stages = classified(pipeline, conditions)
    return DataAudit(stages, findings_of(stages, pipeline, conditions))


def _is_arrays(data: Any) -> bool:
    if isinstance(data, (dict, tuple, list)):
        members = data.values() if isinstance(data, dict) else data
        return bool(data) and all(_is_arrays(value) for value in members)
    has_code = callable(data) or is_a(data, "PyDataset", "Sequence")
    return hasattr(data, "shape") and hasattr(data, "dtype") and not has_code


def _audit_arrays(data: Any, shuffle: bool) -> DataAudit:
    """Keras makes a tf.data pipeline of arrays: that is what is audited."""
    from keras.src.trainers import data_adapters

    packed = data if isinstance(data, tuple) else (data,)
    dataset = data_adapters.get_data_adapter(*packed[:3], batch_size=32, shuffle=shuffle).get_tf_dataset()
    return replace(as_fit_shuffle(audit_dataset(dataset)), subject=f"arrays, fit(shuffle={shuffle})")


def as_fit_shuffle(audit: DataAudit) -> DataAudit:
    """The tf.random.shuffle that Keras writes for fit(shuffle=True) is reported as the user's shuffle."""
    return replace(audit, findings=tuple(map(_as_fit_shuffle, audit.findings)))


def _as_fit_shuffle(one: Finding) -> Finding:
    if one.code != "TW104" or not one.message.startswith("RandomShuffle"):
        return one
    message = "fit(shuffle=True) shuffles the arrays, and TensorFlow's global seed is not set"
    fix = "keras.utils.set_random_seed(42) before fit()"
    return finding("TW201", message, file=one.file, line=one.line, evidence=one.evidence, fix=fix)
