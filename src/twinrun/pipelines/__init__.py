"""Input pipelines: audit a dataset, fingerprint its order, make it repeatable, check how it is sharded.

TensorFlow is imported when a function needs it. Nothing else in Twinrun imports this package before it is asked to
audit data.
"""

from __future__ import annotations

from twinrun.pipelines.audit_report import DataAudit
from twinrun.pipelines.build_sites import note_sites
from twinrun.pipelines.data_audit import audit
from twinrun.pipelines.element_streams import element_rng
from twinrun.pipelines.make_repeatable import changes, repeatable, set_epoch
from twinrun.pipelines.shard_audit import audit_shards
from twinrun.pipelines.stream_fingerprint import DataFingerprint, ElementDigest, data_fingerprint

__all__ = [
    "DataAudit",
    "DataFingerprint",
    "ElementDigest",
    "audit",
    "audit_shards",
    "changes",
    "data_fingerprint",
    "element_rng",
    "note_sites",
    "repeatable",
    "set_epoch",
]
