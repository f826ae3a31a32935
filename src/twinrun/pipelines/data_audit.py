"""The audit of a real input pipeline: each stage's order and randomness, and findings at the user's lines.

The dataset's graph shows how every stage runs; nothing is iterated. What the graph does not show is `unknown`,
never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.pipelines.audit_tables import as_html, as_text
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.classify_stages import Conditions, classified
from twinrun.pipelines.pipeline_rules import findings_of
from twinrun.pipelines.pipeline_stages import Stages, read


@dataclass(frozen=True)
class DataAudit:
    """What was found in one input: its stages, sources first, and findings. `str()` gives a table."""

    stages: Stages
    findings: tuple[Finding, ...]
    subject: str = "dataset"

    def __str__(self) -> str:
        return as_text(self.subject, self.stages, self.findings)

    def _repr_html_(self) -> str:
        return as_html(self.subject, self.stages, self.findings)


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
    from twinrun.pipelines.keras_inputs import audit_keras_input

    return audit_keras_input(data, shuffle=shuffle, workers=workers, use_multiprocessing=use_multiprocessing)


@unconverted
def audit_dataset(dataset: Any, *, resumes: bool = False) -> DataAudit:
    """Audit a tf.data dataset."""
    pipeline = read(dataset)
    conditions = Conditions.now(dataset, resumes=resumes)
    stages = classified(pipeline, conditions)
    return DataAudit(stages, findings_of(stages, pipeline, conditions))
