"""`repeatable`: the same pipeline, made to repeat, and still parallel.

The pipeline is rebuilt as a function of the epoch's number. Each time it is iterated, it takes the next number;
every draw follows from (seed, epoch, element index), in whatever order calls run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twinrun.errors import UsageError
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.classify_stages import Conditions, classified
from twinrun.pipelines.data_audit import audit_dataset
from twinrun.pipelines.graph_walk import walk
from twinrun.pipelines.listing_order import files_in_listing_order
from twinrun.pipelines.pipeline_stages import Stage, read
from twinrun.pipelines.rewrite_outcome import CannotRewrite, Change

if TYPE_CHECKING:
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

    Each iteration is one epoch: epochs differ from one another and repeat across runs. `start_epoch` is the number of
    the first one, and `skip` how many of its elements were already used, so that a restarted run gets what it would
    have got. `changes(ds)` lists what was changed. Raises `CannotRewrite`, with the stage and the reason, when it cannot
    be done.
    """
    from tensorflow.python.autograph.core import ag_ctx

    from twinrun.pipelines.rewriter import Rewriter

    _check(dataset, seed, start_epoch, skip)
    pipeline = read(dataset)
    stages = classified(pipeline, Conditions.now(dataset))
    for stage in stages:
        _refuse_unknown(stage)
    listed = (pipeline.ops[stage.number].name for stage, _, _ in files_in_listing_order(pipeline))
    rewriter = Rewriter(pipeline, stages, frozenset(listed))
    with ag_ctx.ControlStatusCtx(status=ag_ctx.Status.DISABLED):  # our functions are plain graph building
        made = _rebuilt(dataset, rewriter, seed, start_epoch, skip)
    _verify(made)
    return made


def _rebuilt(dataset: Any, rewriter: Rewriter, seed: int, start_epoch: int, skip: int) -> Any:
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    from twinrun.pipelines.draw_keys import Pass
    from twinrun.pipelines.epoch_tail import tail_of

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
    kept = (dataset, rewriter, *rewriter.keep_alive)
    setattr(made, _MADE, Made(tuple(rewriter.changes.values()), counter, kept))
    return made


@unconverted
def changes(dataset: Any) -> tuple[Change, ...]:
    """What `repeatable` changed to make this dataset, or the one it was made from."""
    made = made_by_us(dataset)
    return () if made is None else made.changes


def set_epoch(dataset: Any, epoch: int) -> None:
    """Set the epoch of the next iteration. Not needed where every iteration is one epoch after the last."""
    made = made_by_us(dataset)
    if made is None:
        hint = "ds = twinrun.repeatable(ds, seed=42)"
        raise UsageError("this dataset was not made by twinrun.repeatable", hint=hint)
    made.epoch.assign(epoch)


def made_by_us(dataset: Any) -> Made | None:
    """What `repeatable` attached to a dataset, or to one that it was made from. None for others."""
    found = (getattr(one, _MADE, None) for one in walk(dataset, lambda one: one._inputs()))
    return next((made for made in found if made is not None), None)


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
            hint="build it, and call twinrun.repeatable, outside the function; then pass it in",
        )


def _refuse_unknown(stage: Stage) -> None:
    updates = [op for facts in stage.functions for op in facts.updates]
    if stage.captured and stage.randomness != "none":
        message = f"stage {stage.inside} uses a dataset from outside that draws: {stage.kind}()"
        hint = "build that dataset inside the function"
    elif updates and stage.randomness == "racing":
        message = f"parallel calls of {stage.kind}() read and write one variable ({updates[0]})"
        hint = "carry the state along with ds.scan(…), or leave num_parallel_calls out"
    elif not stage.known:
        message = f"stage {stage.number} ({stage.kind}) is unknown: {stage.notes[-1]}"
        hint = "apply twinrun.repeatable to the part of the pipeline before it"
    else:
        return
    raise CannotRewrite(message, hint, stage.where)


def _options(dataset: Any, rewriter: Rewriter) -> Any:
    import tensorflow as tf

    options = tf.data.Options()
    options._from_proto(dataset.options()._to_proto())
    options._set_mutable(True)
    if options.deterministic is False:
        change = Change("options", "options", None, "deterministic=True, where Options had False")
        rewriter.changes[("options", "")] = change
    options.deterministic = True
    if options.experimental_external_state_policy is None:
        # The one state left is the epoch's number, which an iterator keeps: it can be saved in the middle.
        options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    policies = tf.data.experimental.AutoShardPolicy
    if options.experimental_distribute.auto_shard_policy in (policies.FILE, policies.AUTO):
        # Elements are numbered before they are distributed, so that workers do not draw the same numbers.
        options.experimental_distribute.auto_shard_policy = policies.DATA
    return options


def _verify(made: Any) -> None:
    """Audit the result like any other pipeline: what still races or is unseeded is refused."""
    for stage in audit_dataset(made).stages:
        if stage.order != "deterministic" or stage.randomness not in ("none", "seeded"):
            raise CannotRewrite(
                f"{stage.kind}() would still not repeat: order {stage.order}, randomness {stage.randomness}",
                hint="; ".join(stage.notes) or None,
                where=stage.where,
            )
