"""How workers share the data: every element once, or how many twice and how many never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twinrun.errors import NotComparable, UsageError
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.audit_report import finding_lines
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.data_audit import audit_dataset
from twinrun.pipelines.make_repeatable import made_by_us
from twinrun.pipelines.pipeline_stages import Stages
from twinrun.pipelines.stream_fingerprint import (
    ElementDigest,
    EpochFingerprint,
    elements_of,
    refuse_in_graph,
)

_BATCHES = ("batch", "padded_batch", "map_and_batch", "rebatch", "dense_to_sparse_batch")
Key = Callable[[Any], Any]
Counts = Counter[int]  # of element digests


@dataclass(frozen=True)
class ShardAudit:
    """What each worker got, and how that covers the whole. `missing` is None when the whole is not known."""

    workers: tuple[EpochFingerprint, ...]
    whole: int | None
    missing: int | None
    repeated: int
    foreign: int | None
    findings: tuple[Finding, ...] = ()

    @property
    def clean(self) -> bool:
        """Every element once."""
        return not self.missing and not self.repeated and not self.foreign

    @property
    def coverage(self) -> str:
        """The same in words."""
        if self.clean:
            return "every element once" if self.whole is not None else "none seen twice"
        parts = [f"{self.missing} never seen"] if self.missing else []
        parts += [f"{self.repeated} seen more than once"] if self.repeated else []
        parts += [f"{self.foreign} that are not in the data"] if self.foreign else []
        return ", ".join(parts)

    def __str__(self) -> str:
        seen = sum(worker.elements for worker in self.workers)
        of = "" if self.whole is None else f" of {self.whole}"
        lines = [f"{len(self.workers)} workers saw {seen} elements{of}: {self.coverage}"]
        for number, worker in enumerate(self.workers):
            lines.append(f"  worker {number}: {worker.elements} elements, ordered {worker.ordered}")
        return "\n".join([*lines, *finding_lines(self.findings)])


@unconverted
def audit_shards(
    data: Any,
    workers: int | None = None,
    *,
    whole: Any = None,
    key: Key | None = None,
    limit: int | None = None,
) -> ShardAudit:
    """Check by digests how `workers` workers share a dataset.

    `data` is a dataset (it is sharded by its AutoShardPolicy, as a distribution strategy would do), a function of a
    `tf.distribute.InputContext` (as for `distribute_datasets_from_function`), or a list with each worker's dataset; for a
    list, `whole` is what they should cover. `key` picks what identifies an element when the rest of it is random.
    """
    parts, complete, stages = _parts(data, workers, whole)
    for part in parts:
        refuse_in_graph(part)
    found = [_digests(part, key, limit) for part in parts]
    seen = tuple(fingerprint for _, fingerprint in found)
    counts = sum((one for one, _ in found), Counts())
    if complete is None:
        audit = ShardAudit(seen, None, None, sum(count - 1 for count in counts.values()), None)
    else:
        wanted, _ = _digests(complete, key, limit)
        _refuse_unmatchable(counts, wanted, key, stages)
        audit = ShardAudit(
            seen,
            whole=sum(wanted.values()),
            missing=sum((wanted - counts).values()),
            repeated=sum(max(0, counts[one] - wanted[one]) for one in wanted),
            foreign=sum(count for one, count in counts.items() if one not in wanted),
        )
    return audit if audit.clean else replace(audit, findings=(_finding(audit, stages),))


def _parts(data: Any, workers: int | None, whole: Any) -> tuple[list[Any], Any, Stages]:
    """Each worker's dataset, the whole, and the stages among which to look for the line to blame."""
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops
    from tensorflow.python.distribute import input_ops

    if isinstance(data, Sequence) and data and all(isinstance(one, dataset_ops.DatasetV2) for one in data):
        return list(data), whole, audit_dataset(data[0]).stages
    is_dataset = isinstance(data, dataset_ops.DatasetV2)
    if not is_dataset and not callable(data):
        raise UsageError(
            f"audit_shards cannot shard a {type(data).__name__}",
            hint="pass a dataset, a function of an InputContext, or a list with each worker's dataset",
        )
    if not isinstance(workers, int) or workers < 1:
        raise UsageError("how many workers share the data?", hint="audit_shards(ds, workers=2)")
    if is_dataset:
        parts = [input_ops.auto_shard_dataset(data, workers, index, workers) for index in range(workers)]
        return parts, data if whole is None else whole, audit_dataset(data).stages
    parts = [data(tf.distribute.InputContext(workers, index, workers)) for index in range(workers)]
    alone = data(tf.distribute.InputContext(1, 0, 1)) if whole is None else whole
    return parts, alone, audit_dataset(parts[0]).stages


def _digests(dataset: Any, key: Key | None, limit: int | None) -> tuple[Counts, EpochFingerprint]:
    """The digests of one worker's elements: counted, and as one running digest."""
    if any(stage.kind in _BATCHES and stage.depth == 0 for stage in audit_dataset(dataset).stages):
        dataset = dataset.unbatch()  # batches differ from worker to worker: compare what is in them
    counts = Counts()
    running, made = ElementDigest(), made_by_us(dataset)
    epoch = None if made is None else int(made.epoch.numpy())
    try:
        for element in elements_of(dataset, limit, "audit_shards(…, limit=1000)"):
            counts[running.add(element if key is None else key(element))] += 1
    finally:
        if made is not None:  # workers are processes that count epochs side by side; here they take turns
            made.epoch.assign(epoch)
    return counts, running.fingerprint()


def _refuse_unmatchable(counts: Counts, wanted: Counts, key: Key | None, stages: Stages) -> None:
    """Elements that are drawn again each time cannot be recognised; the sharding is not to blame for that."""
    drawn = [stage for stage in stages if any(facts.random for facts in stage.functions)]
    if key is None and drawn and counts and not (counts & wanted):
        raise NotComparable(
            f"no element of a worker is in the whole: {drawn[0].kind}() draws again each time",
            hint="identify them by what is not drawn: audit_shards(…, key=lambda element: element['id'])",
        )


def _finding(audit: ShardAudit, stages: Stages) -> Finding:
    # the line that shards, else the one that built the last stage
    lines = [stage.site for stage in stages if stage.kind == "shard" and stage.site is not None]
    lines += [stage.site for stage in reversed(stages) if stage.site is not None]
    sizes = ", ".join(str(worker.elements) for worker in audit.workers)
    whole = "" if audit.whole is None else f"; the data has {audit.whole}"
    fix = "ds.shard(context.num_input_pipelines, context.input_pipeline_id) first, before any shuffle()"
    drops = any(stage.attributes.get("drop_remainder") is True for stage in stages)
    if audit.missing and not audit.repeated and drops:
        fix = "drop_remainder=False, or a number of elements that each worker's batches divide"
    return finding(
        "TW602",
        f"{len(audit.workers)} workers do not cover the data once: {audit.coverage}",
        file=lines[0].file if lines else None,
        line=lines[0].line if lines else None,
        confirmed=True,
        evidence=[f"elements by worker: {sizes}{whole}", "counted by the digests of the elements themselves"],
        fix=fix,
    )
