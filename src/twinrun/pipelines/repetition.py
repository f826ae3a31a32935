"""repeat(), as a walk over the numbers of its turns, so that each turn draws by its own number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twinrun.pipelines.draw_keys import Pass, Scope
from twinrun.pipelines.keyed_stages import flat, specs_of
from twinrun.pipelines.op_arguments import argument, dataset_inputs

if TYPE_CHECKING:
    from twinrun.pipelines.keyed_stages import Work

ENDLESS = (1 << 63) - 1


def repeat(work: Work, build: Callable[[Scope], Any]) -> Any:
    """The dataset that repeats what `build` makes for each turn's scope."""
    import tensorflow as tf

    count = argument(work.op, "count")
    turns = -1 if count is None or int(count) < 0 else int(count)
    specs = specs_of(work.op)
    numbers = tf.data.Dataset.range(ENDLESS if turns < 0 else turns)
    if turns < 0 and isinstance(work.scope, Pass) and _may_be_empty(work):
        numbers = _unless_empty(work, specs)
    work.rewriter.note(work.op, "each turn draws by its own number")

    def turn_of(number: Any) -> Any:
        scope = work.scope.repetition(number, tf.constant(turns, tf.int64), *work.place)
        return flat(build(scope), specs)

    return numbers.flat_map(turn_of)._variant_tensor


def _may_be_empty(work: Work) -> bool:
    """Whether nothing is known about how much comes in, and that can be found out without calling Python."""
    stages = work.rewriter.pipeline.stages
    calls_python = any(facts.host for stage in stages for facts in stage.functions)
    return work.rewriter.elements_into(work.op) is None and not calls_python


def _unless_empty(work: Work, specs: tuple[Any, ...]) -> Any:
    """Endless turns, or none: repeat() ends when its input has nothing to give, and so must the walk."""
    import tensorflow as tf

    work.rewriter.may_be_empty = True
    source = dataset_inputs(work.op)[0].op
    first = flat(work.rewriter.dataset(source, work.scope, probing=True), specs).take(1)
    begun = first.map(lambda *_: tf.constant(0, tf.int64))
    return begun.flat_map(lambda _: tf.data.Dataset.range(ENDLESS))
