"""Input pipelines: audit a dataset, fingerprint its order, make it repeatable, check how it is sharded.

Each name is loaded when it is first used, and TensorFlow when a function needs it. Nothing else in Twinrun
imports this package before it is asked to audit data.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinrun.pipelines.build_sites import note_sites as note_sites
    from twinrun.pipelines.data_audit import DataAudit as DataAudit
    from twinrun.pipelines.data_audit import audit as audit
    from twinrun.pipelines.element_streams import element_rng as element_rng
    from twinrun.pipelines.make_repeatable import changes as changes
    from twinrun.pipelines.make_repeatable import repeatable as repeatable
    from twinrun.pipelines.make_repeatable import set_epoch as set_epoch
    from twinrun.pipelines.shard_audit import audit_shards as audit_shards
    from twinrun.pipelines.stream_fingerprint import DataFingerprint as DataFingerprint
    from twinrun.pipelines.stream_fingerprint import ElementDigest as ElementDigest
    from twinrun.pipelines.stream_fingerprint import data_fingerprint as data_fingerprint

_NAMES = {
    "build_sites": "note_sites",
    "data_audit": "DataAudit audit",
    "element_streams": "element_rng",
    "make_repeatable": "changes repeatable set_epoch",
    "shard_audit": "audit_shards",
    "stream_fingerprint": "DataFingerprint ElementDigest data_fingerprint",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
