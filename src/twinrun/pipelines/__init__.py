"""Input pipelines: audit a dataset, fingerprint its order, make it repeatable, check how it is sharded.

TensorFlow is imported when a function needs it. Nothing else in Twinrun imports this package before it is asked to
audit data.
"""

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
