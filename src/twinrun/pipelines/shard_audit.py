"""How workers share the data out: every element once, or how many twice and how many never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twinrun.errors import NotComparable, UsageError
from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.build_sites import Site, shown_file
from twinrun.pipelines.make_repeatable import made_by_us
from twinrun.pipelines.pipeline_stages import Stage
from twinrun.pipelines.stream_fingerprint import (
    CannotFingerprint,
    ElementDigest,
    EpochFingerprint,
    refuse_in_graph,
)

_BATCHES = ("batch", "padded_batch", "map_and_batch", "rebatch", "dense_to_sparse_batch")


@dataclass(frozen=True)
class ShardAudit:
    """What each worker saw, and how that covers the whole. `missing` is None when the whole is not known."""

    workers: tuple[EpochFingerprint, ...]
    whole: int | None
    missing: int | None
    repeated: int
    foreign: int | None
    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Every element once."""
        return not self.missing and not self.repeated and not self.foreign

    def __str__(self) -> str:
        seen = sum(worker.elements for worker in self.workers)
        of = "" if self.whole is None else f" of {self.whole}"
        lines = [f"{len(self.workers)} workers saw {seen} elements{of}: {_numbers(self)}"]
        lines += [
            f"  worker {number}: {worker.elements} elements, ordered {worker.ordered}"
            for number, worker in enumerate(self.workers)
        ]
        for one in self.findings:
            lines.append(f"{one.code} {one.name}: {one.message}")
            lines += [f"  --> {shown_file(one.place)}"] if one.place else []
            lines += [f"  fix: {one.fix}"] if one.fix else []
        return "\n".join(lines)


@unconverted
def audit_shards(
    data: Any,
    workers: int | None = None,
    *,
    whole: Any = None,
    key: Callable[[Any], Any] | None = None,
    limit: int | None = None,
) -> ShardAudit:
    """Check by digests how `workers` workers share a dataset out.

    `data` is a dataset (it is sharded by its AutoShardPolicy, as a distribution strategy would do), a
    function of an `tf.distribute.InputContext` (as for `distribute_datasets_from_function`), or a list with
    each worker's dataset; for a list, `whole` is what they should cover. `key` picks what tells elements
    apart when the rest of them is random.
    """
    parts, complete, stages = _parts(data, workers, whole)
    for part in parts:
        refuse_in_graph(part)
    digests = [_digests(part, key, limit) for part in parts]
    counts: Counter[int] = Counter()
    for one in digests:
        counts.update(one.counts)
    repeated = missing = foreign = None
    if complete is None:
        repeated = sum(count - 1 for count in counts.values())
    else:
        wanted = _digests(complete, key, limit).counts
        _refuse_unmatchable(counts, wanted, key, stages)
        missing = sum((wanted - counts).values())
        repeated = sum(max(0, counts[one] - wanted[one]) for one in wanted)
        foreign = sum(count for one, count in counts.items() if one not in wanted)
    audit = ShardAudit(
        tuple(one.running.fingerprint() for one in digests),
        None if complete is None else sum(wanted.values()),
        missing,
        repeated,
        foreign,
        (),
    )
    return audit if audit.clean else _with_finding(audit, stages)


def _parts(data: Any, workers: int | None, whole: Any) -> tuple[list[Any], Any, tuple[Stage, ...]]:
    """Each worker's dataset, the whole, and the stages to look for a line to blame in."""
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops
    from tensorflow.python.distribute import input_ops

    if isinstance(data, dataset_ops.DatasetV2):
        count = _checked(workers)
        parts = [input_ops.auto_shard_dataset(data, count, index, count) for index in range(count)]
        return parts, data if whole is None else whole, _stages(data)
    if callable(data):
        count = _checked(workers)
        contexts = [tf.distribute.InputContext(count, index, count) for index in range(count)]
        parts = [data(context) for context in contexts]
        alone = data(tf.distribute.InputContext(1, 0, 1)) if whole is None else whole
        return parts, alone, _stages(parts[0])
    if isinstance(data, Sequence) and data and all(isinstance(one, dataset_ops.DatasetV2) for one in data):
        return list(data), whole, _stages(data[0])
    raise UsageError(
        f"audit_shards cannot share out a {type(data).__name__}",
        hint="hand over a dataset, a function of an InputContext, or a list with each worker's dataset",
    )


def _checked(workers: int | None) -> int:
    if not isinstance(workers, int) or workers < 1:
        raise UsageError("how many workers share the data?", hint="audit_shards(ds, workers=2)")
    return workers


def _stages(dataset: Any) -> tuple[Stage, ...]:
    from twinrun.pipelines.data_audit import audit_dataset

    return audit_dataset(dataset).stages


class _Digests:
    """The digests of one worker's elements: counted, and run together in order."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.running = ElementDigest()


def _digests(dataset: Any, key: Callable[[Any], Any] | None, limit: int | None) -> _Digests:
    if any(stage.kind in _BATCHES and stage.depth == 0 for stage in _stages(dataset)):
        dataset = dataset.unbatch()  # batches are cut differently for each worker: compare what is in them
    made = made_by_us(dataset)
    if limit is None and int(dataset.cardinality().numpy()) == -1:
        raise UsageError("the dataset has no end", hint="audit_shards(…, limit=1000)")
    if limit is not None:
        dataset = dataset.take(limit)
    found = _Digests()
    epoch = None if made is None else int(made.epoch.numpy())
    try:
        for element in dataset:
            found.counts[found.running.add(element if key is None else key(element))] += 1
    except CannotFingerprint:
        raise
    except Exception as problem:
        message = (str(problem).splitlines() or [""])[0]
        raise CannotFingerprint(
            f"a worker's dataset raised: {type(problem).__name__}: {message}"
        ) from problem
    finally:
        if made is not None:  # workers are processes that count epochs side by side; here they take turns
            made.epoch.assign(epoch)
    return found


def _refuse_unmatchable(
    counts: Counter[int], wanted: Counter[int], key: Callable[[Any], Any] | None, stages: tuple[Stage, ...]
) -> None:
    """Elements that are drawn anew each time cannot be recognised; that is not a fault of the sharding."""
    drawn = [stage for stage in stages if stage.functions and any(facts.random for facts in stage.functions)]
    if key is None and drawn and counts and not (counts & wanted):
        raise NotComparable(
            f"no element of a worker is in the whole: {drawn[0].kind}() draws anew each time",
            hint="tell them apart by what is not drawn: audit_shards(…, key=lambda element: element['id'])",
        )


def _numbers(audit: ShardAudit) -> str:
    if audit.clean:
        return "every element once" if audit.whole is not None else "none seen twice"
    parts = [f"{audit.missing} never seen"] if audit.missing else []
    parts += [f"{audit.repeated} seen more than once"] if audit.repeated else []
    parts += [f"{audit.foreign} that are not in the data"] if audit.foreign else []
    return ", ".join(parts)


def _with_finding(audit: ShardAudit, stages: tuple[Stage, ...]) -> ShardAudit:
    site = _blamed(stages)
    sizes = ", ".join(str(worker.elements) for worker in audit.workers)
    found = finding(
        "TW602",
        f"{len(audit.workers)} workers do not cover the data once: {_numbers(audit)}",
        file=None if site is None else site.file,
        line=None if site is None else site.line,
        confirmed=True,
        evidence=[
            f"elements by worker: {sizes}" + ("" if audit.whole is None else f"; the data has {audit.whole}"),
            "counted by the digests of the elements themselves",
        ],
        fix=_fix(audit, stages),
    )
    return ShardAudit(audit.workers, audit.whole, audit.missing, audit.repeated, audit.foreign, (found,))


def _fix(audit: ShardAudit, stages: tuple[Stage, ...]) -> str:
    if (
        audit.missing
        and not audit.repeated
        and any(stage.attributes.get("drop_remainder") is True for stage in stages)
    ):
        return "drop_remainder=False, or a number of elements that each worker's batches divide"
    return "ds.shard(context.num_input_pipelines, context.input_pipeline_id) first, before any shuffle()"


def _blamed(stages: tuple[Stage, ...]) -> Site | None:
    """The line that shards, else the one that built the last stage."""
    for stage in stages:
        if stage.kind == "shard" and stage.site is not None:
            return stage.site
    return next((stage.site for stage in reversed(stages) if stage.site is not None), None)
