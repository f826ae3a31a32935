"""Every patch of TensorFlow by which steps are seen. Loaded without TensorFlow."""

from __future__ import annotations

from twinrun.frameworks.packages import tf_point, tf_points
from twinrun.frameworks.tensorflow.points import after, around
from twinrun.protocol.point import Point, Wrap


def _session_point(path: str, wrap: Wrap, reason: str) -> Point:
    place = f"client.session:BaseSession.{path}"
    return tf_point(place, wrap, reason, "verdict", entrance="client.session:BaseSession.__init__")


POINTS = (
    tf_point(
        "eager.polymorphic_function.polymorphic_function:Function.__call__", around(lambda it: it.call),
        "the outermost call of a tf.function is where a compiled step is seen from outside", "verdict",
    ),
    *tf_points(
        "eager.polymorphic_function.polymorphic_function:Function.{}", ("_initialize", "_initialize_uninitialized_variables"),
        after(lambda it: it.on_traced),
        "weights made by the first call of a training function have their initial values here, and no step has changed them",
        optional=True,
    ),
    tf_point(
        "ops.resource_variable_ops:BaseResourceVariable.__init__", after(lambda it: it.on_variable),
        "every variable is made here: weights, optimizer slots, states of generators", "verdict",
    ),
    tf_point(
        "eager.backprop:GradientTape.gradient", around(lambda it: it.gradients.gradient),
        "the target is the loss of an eager step; without an optimizer, gradients announce a manual update", "verdict",
    ),
    *tf_points(
        "eager.backprop:GradientTape.{}", ("jacobian", "batch_jacobian"), around(lambda it: it.gradients.jacobian),
        "these take gradients in a function of their own", "verdict", optional=True,
    ),
    tf_point(
        "eager.forwardprop:ForwardAccumulator.jvp", after(lambda it: it.gradients.on_forward_gradients),
        "gradients without a tape", "verdict", optional=True,
    ),
    *tf_points(
        "ops.gradients_impl:{}", ("gradients", "gradients_v2"), after(lambda it: it.gradients.on_symbolic_gradients),
        "a tf.function can take gradients without a tape", "verdict", everywhere=True, optional=True,
    ),
    tf_point(
        "ops.lookup_ops:LookupInterface.__init__", after(lambda it: it.tables.on_table),
        "the line that makes a table gives it a name",
    ),
    *tf_points(
        "ops.gen_lookup_ops:lookup_table_{}_v2", ("insert", "remove", "import"), after(lambda it: it.tables.on_change),
        "the content of a table changes here", "verdict",
    ),
    tf_point(
        "data.ops.iterator_ops:OwnedIterator._next_internal", after(lambda it: it.on_element),
        "elements are drawn from a dataset here, eagerly or inside a training function", "verdict",
    ),
    tf_point(
        "data.ops.optional_ops:_OptionalImpl.get_value", after(lambda it: it.on_optional),
        "loops over an iterator inside a tf.function take their batch out of an optional",
    ),
    tf_point(
        "data.ops.dataset_autograph:_general_purpose_scan", around(lambda it: it.scan),
        "loops over a dataset inside a tf.function become a scan, whose body gets the batch",
    ),
    tf_point(
        "training.optimizer:Optimizer.apply_gradients", around(lambda it: it.apply_gradients),
        "optimizers of TensorFlow 1, which some custom loops still use, update weights here", "verdict",
        entrance="training.optimizer:Optimizer.__init__",
    ),
    # Distribution strategies
    tf_point(
        "distribute.values:DistributedVariable.__init__", after(lambda it: it.replicas.on_variable),
        "the copies of a variable that replicas share must stay equal", "verdict",
    ),
    tf_point(
        "distribute.distribute_lib:StrategyBase.run", around(lambda it: it.replicas.on_run),
        "what each replica is given is its batch",
    ),
    tf_point(
        "distribute.distribute_lib:StrategyExtendedV2.batch_reduce_to", around(lambda it: it.replicas.on_reduction),
        "the gradients of replicas are summed up here",
    ),
    tf_point(
        "distribute.collective_all_reduce_strategy:CollectiveAllReduceExtended._replica_ctx_all_reduce",
        around(lambda it: it.replicas.on_all_reduce), "the gradients of workers are summed up here",
    ),
    # Sessions of TensorFlow 1
    _session_point(
        "_call_tf_sessionrun", around(lambda it: it.sessions.on_run),
        "every run of a graph, with feeds and fetches as single tensors",
    ),
    _session_point(
        "_call_tf_sessionprun", around(lambda it: it.sessions.on_partial_run),
        "a graph may be run in several parts",
    ),
    _session_point(
        "_Callable.__init__", after(lambda it: it.sessions.on_prepared),
        "what a prepared run feeds and fetches is given when it is made",
    ),
    _session_point(
        "_Callable.__call__", around(lambda it: it.sessions.on_callable),
        "tf_keras without eager execution runs its graph so",
    ),
    _session_point("close", around(lambda it: it.sessions.on_close), "a session's variables end with it"),
)  # fmt: skip
