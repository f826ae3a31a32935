"""Input pipelines: audit a dataset, fingerprint its order, make it repeatable, check how it is sharded.

Nothing here imports TensorFlow before it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.data.data_audit import DataAudit as DataAudit
    from twinrun.frameworks.tensorflow.data.data_audit import audit as audit
    from twinrun.frameworks.tensorflow.data.element import element_rng as element_rng
    from twinrun.frameworks.tensorflow.data.fingerprint import data_fingerprint as data_fingerprint
    from twinrun.frameworks.tensorflow.data.make_repeatable import changes as changes
    from twinrun.frameworks.tensorflow.data.make_repeatable import repeatable as repeatable
    from twinrun.frameworks.tensorflow.data.make_repeatable import set_epoch as set_epoch
    from twinrun.frameworks.tensorflow.data.shards import audit_shards as audit_shards
    from twinrun.frameworks.tensorflow.data.sites import note_sites as note_sites

_HOMES = {
    "DataAudit": "data_audit",
    "DataFingerprint": "fingerprint",
    "ElementDigest": "fingerprint",
    "audit": "data_audit",
    "audit_shards": "shards",
    "changes": "make_repeatable",
    "collected": "watch",
    "data_fingerprint": "fingerprint",
    "element_rng": "element",
    "note_sites": "sites",
    "repeatable": "make_repeatable",
    "set_epoch": "make_repeatable",
    "watch_datasets": "watch",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
