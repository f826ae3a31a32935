"""`repeatable`: the same pipeline, made to repeat, and still parallel.

The pipeline is built again as a function of the epoch's number. Each time it is iterated, it takes the next
number; everything that is drawn follows from (seed, epoch, element index), whoever runs first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twinrun.errors import UsageError
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.change import Change
from twinrun.pipelines.data_audit import audit_dataset
from twinrun.pipelines.draw_keys import Pass
from twinrun.pipelines.epoch_tail import tail_of
from twinrun.pipelines.file_names import files_in_listing_order
from twinrun.pipelines.function_replay import CannotRewrite
from twinrun.pipelines.judge import Circumstances, judged
from twinrun.pipelines.pipeline_stages import Pipeline, Stage, read
from twinrun.pipelines.rewriter import Rewriter

_MADE = "_twinrun_repeatable"


@dataclass(frozen=True)
class Made:
    """What belongs to a repeatable dataset: its changes, its epoch counter, what must live as long as it."""

    changes: tuple[Change, ...]
    epoch: Any
    keep_alive: tuple[Any, ...]


@unconverted
def repeatable(dataset: Any, seed: int = 42, *, start_epoch: int = 0, skip: int = 0) -> Any:
    """A dataset like `dataset` that repeats bit by bit from run to run, and is as parallel as it was.

    Each iteration is one epoch: epochs differ from one another and repeat across runs. `start_epoch` is the
    number of the first one, and `skip` how many of its elements were already used: so a restarted run sees
    what it would have seen. `changes(ds)` lists what was changed. Raises `CannotRewrite`, with the stage and
    the reason, when it cannot be done.
    """
    from tensorflow.python.autograph.core import ag_ctx

    _check(dataset, seed, start_epoch, skip)
    pipeline = read(dataset)
    stages = judged(pipeline, Circumstances.now(dataset))
    _refuse_unknown(stages)
    rewriter = Rewriter(pipeline, stages, _to_be_sorted(pipeline, stages))
    with ag_ctx.ControlStatusCtx(status=ag_ctx.Status.DISABLED):  # our functions are plain graph building
        made = _rebuilt(dataset, rewriter, seed, start_epoch, skip)
    _verify(made)
    return made


def _rebuilt(dataset: Any, rewriter: Rewriter, seed: int, start_epoch: int, skip: int) -> Any:
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    counter = tf.Variable(start_epoch, dtype=tf.int64, trainable=False, name="twinrun_epoch")
    epochs = tf.data.Dataset.from_tensors(0).map(lambda _: counter.assign_add(1) - 1)
    tail = tail_of(rewriter) if not skip else None  # elements are skipped inside their epoch

    def one_epoch(epoch: Any) -> Any:
        scope = Pass(seed, epoch)
        if tail is not None:
            return tail.epoch(scope)
        variant = rewriter.dataset(rewriter.pipeline.lifted.output.op, scope)
        whole = dataset_ops._VariantDataset(variant, dataset.element_spec)
        if not skip:
            return whole
        return whole.skip(tf.where(tf.equal(epoch, start_epoch), tf.constant(skip, tf.int64), 0))

    made = epochs.flat_map(one_epoch)
    if tail is not None:
        made = dataset_ops._RestructuredDataset(tail.on(made), dataset.element_spec)
    elements = int(dataset.cardinality().numpy())
    if elements != tf.data.UNKNOWN_CARDINALITY and not skip and not rewriter.may_be_empty:
        made = made.apply(tf.data.experimental.assert_cardinality(elements))
    made = made.with_options(_options(dataset, rewriter))
    setattr(
        made,
        _MADE,
        Made(tuple(rewriter.changes.values()), counter, (dataset, rewriter, *rewriter.keep_alive)),
    )
    return made


@unconverted
def changes(dataset: Any) -> tuple[Change, ...]:
    """What `repeatable` changed to make this dataset, or the one it was made from."""
    made = made_by_us(dataset)
    return () if made is None else made.changes


def set_epoch(dataset: Any, epoch: int) -> None:
    """Say which epoch the next iteration is. Not needed where every iteration is one epoch after the last."""
    made = made_by_us(dataset)
    if made is None:
        raise UsageError(
            "this dataset was not made by twinrun.repeatable", hint="ds = twinrun.repeatable(ds, seed=42)"
        )
    made.epoch.assign(epoch)


def made_by_us(dataset: Any) -> Made | None:
    """What `repeatable` left with a dataset, or with one that it was made from. None for others."""
    waiting = [dataset]
    while waiting:
        one = waiting.pop()
        found = getattr(one, _MADE, None)
        if isinstance(found, Made):
            return found
        waiting += one._inputs()
    return None


def _check(dataset: Any, seed: int, start_epoch: int, skip: int) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import ops

    for name, value in (("seed", seed), ("start_epoch", start_epoch), ("skip", skip)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"repeatable: {name} must be a whole number, not {value!r}")
    variant = getattr(dataset, "_variant_tensor", None)
    if not tf.executing_eagerly() or (variant is not None and not isinstance(variant, ops.EagerTensor)):
        raise CannotRewrite(
            "the dataset is built inside a tf.function",
            hint="build it, and call twinrun.repeatable, outside the function; then hand it in",
        )


def _refuse_unknown(stages: tuple[Stage, ...]) -> None:
    for stage in stages:
        if stage.captured and stage.randomness != "none":
            raise CannotRewrite(
                f"stage {stage.inside} uses a dataset from outside that draws: {stage.kind}()",
                hint="build that dataset inside the function",
                where=None if stage.site is None else str(stage.site),
            )
        updates = [op for facts in stage.functions for op in facts.updates]
        if updates and stage.randomness == "racing":
            raise CannotRewrite(
                f"parallel calls of {stage.kind}() read and write one variable ({updates[0]})",
                hint="carry the state along with ds.scan(…), or leave num_parallel_calls out",
                where=None if stage.site is None else str(stage.site),
            )
        if not stage.known:
            raise CannotRewrite(
                f"stage {stage.number} ({stage.kind}) is unknown: {stage.notes[-1]}",
                hint="apply twinrun.repeatable to the part of the pipeline before it",
                where=None if stage.site is None else str(stage.site),
            )


def _to_be_sorted(pipeline: Pipeline, stages: tuple[Stage, ...]) -> frozenset[str]:
    found = (stage.number for stage, _, _ in files_in_listing_order(stages, pipeline))
    return frozenset(pipeline.ops[number].name for number in found)


def _options(dataset: Any, rewriter: Rewriter) -> Any:
    import tensorflow as tf

    options = tf.data.Options().merge(dataset.options())
    options = _copied(options)
    if options.deterministic is False:
        rewriter.changes[("options", "")] = Change(
            "options", "options", None, "deterministic=True, where Options gave it up"
        )
    options.deterministic = True
    if options.experimental_external_state_policy is None:
        # The one state left is the number of the epoch, which an iterator keeps: it may be saved in the
        # middle.
        options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    policy = options.experimental_distribute.auto_shard_policy
    if policy in (tf.data.experimental.AutoShardPolicy.FILE, tf.data.experimental.AutoShardPolicy.AUTO):
        # Elements are numbered before they are dealt out, so that workers do not draw the same numbers.
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return options


def _copied(options: Any) -> Any:
    import tensorflow as tf

    fresh = tf.data.Options()
    fresh._from_proto(options._to_proto())
    fresh._set_mutable(True)
    return fresh


def _verify(made: Any) -> None:
    """Look at the result as at any other pipeline: what still races or is unseeded is refused."""
    audit = audit_dataset(made)
    for stage in audit.stages:
        if stage.order not in ("deterministic",) or stage.randomness not in ("none", "seeded"):
            raise CannotRewrite(
                f"{stage.kind}() would still not repeat: order {stage.order}, randomness {stage.randomness}",
                hint="; ".join(stage.notes) or None,
                where=None if stage.site is None else str(stage.site),
            )
