"""Input pipelines: audit a dataset, fingerprint its order, make it repeatable, check how it is sharded.

TensorFlow is imported when a function needs it. Nothing else in Twinrun imports this package before it is asked to
audit data, or to be ready for that: a check pays for the few modules that this takes, so each public name is loaded when
it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinrun.pipelines.audit_report import DataAudit as DataAudit
    from twinrun.pipelines.build_sites import note_sites as note_sites
    from twinrun.pipelines.data_audit import audit as audit
    from twinrun.pipelines.element_streams import element_rng as element_rng
    from twinrun.pipelines.make_repeatable import changes as changes
    from twinrun.pipelines.make_repeatable import repeatable as repeatable
    from twinrun.pipelines.make_repeatable import set_epoch as set_epoch
    from twinrun.pipelines.shard_audit import audit_shards as audit_shards
    from twinrun.pipelines.stream_fingerprint import DataFingerprint as DataFingerprint
    from twinrun.pipelines.stream_fingerprint import ElementDigest as ElementDigest
    from twinrun.pipelines.stream_fingerprint import data_fingerprint as data_fingerprint
    from twinrun.pipelines.worker_share import share as share

_HOMES = {
    "DataAudit": "audit_report",
    "note_sites": "build_sites",
    "audit": "data_audit",
    "element_rng": "element_streams",
    "changes": "make_repeatable",
    "repeatable": "make_repeatable",
    "set_epoch": "make_repeatable",
    "audit_shards": "shard_audit",
    "DataFingerprint": "stream_fingerprint",
    "ElementDigest": "stream_fingerprint",
    "data_fingerprint": "stream_fingerprint",
    "share": "worker_share",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
