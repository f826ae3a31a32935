"""Every patch of TensorFlow by which steps are seen. Loaded without TensorFlow: what a wrapper needs of it is imported
when the wrapper is made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from twinrun.protocol.point import Need, Point, Wrap

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.twin.session import Session

TESTED_ON = "TensorFlow 2.18 to 2.21"
Function = Callable[..., Any]
_slots = count()  # places in graphs where elements are drawn


def observer_of(session: Session) -> Observer:
    """One observer for a twin: TensorFlow and both kinds of Keras share it."""
    from twinrun.frameworks.tensorflow.observer import observer_for

    assert session.recorder is not None  # steps are seen in twins alone
    return observer_for(session.recorder)


def _function(session: Session, original: Function) -> Function:
    observer = observer_of(session)
    recorder = observer.recorder

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if not recorder.alive:
            return original(self, *args, **kwargs)
        return observer.call(self, args, kwargs, original)

    return __call__


def _variable(session: Session, original: Function) -> Function:
    observer = observer_of(session)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if observer.recorder.alive:
            observer.variables.track(self)

    return __init__


def _gradient(session: Session, original: Function) -> Function:
    observer = observer_of(session)

    def gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        if observer.recorder.alive:
            try:
                observer.on_gradients(target, sources)
            except Exception as problem:
                observer.recorder.trouble(problem)
        return original(self, target, sources, *args, **kwargs)

    return gradient


def _next(session: Session, original: Function) -> Function:
    from tensorflow.python.eager import context

    observer = observer_of(session)

    def _next_internal(self: Any) -> Any:
        element = original(self)
        if observer.recorder.alive:
            try:
                if context.executing_eagerly():
                    observer.on_element(element, self)
                else:
                    _add_callback(observer, element)
            except Exception as problem:
                observer.recorder.trouble(problem)
        return element

    return _next_internal


def _add_callback(observer: Observer, element: Any) -> None:
    """Inside a training function the element is seen by a host callback; inside a loop, by that of the loop."""
    import tensorflow as tf

    from twinrun.frameworks.tensorflow import loops
    from twinrun.frameworks.tensorflow.tensors import leaves

    if loops.keep_element(element):
        return
    named = [(name, leaf) for name, leaf in leaves(element) if leaf.dtype not in (tf.variant, tf.resource)]
    names = tuple(name for name, _ in named)
    slot = next(_slots)

    def callback(*arrays: Any) -> None:
        try:
            observer.on_graph_element(slot, names, list(arrays))
        except Exception as problem:
            observer.recorder.trouble(problem)

    tf.numpy_function(callback, [leaf for _, leaf in named], [], stateful=True)


def _optional_value(session: Session, original: Function) -> Function:
    from tensorflow.python.eager import context

    from twinrun.frameworks.tensorflow import loops

    def get_value(self: Any, name: Any = None) -> Any:
        element = original(self, name=name)
        if not context.executing_eagerly():
            loops.keep_element(element)
        return element

    return get_value


def _dataset_scan(session: Session, original: Function) -> Function:
    import tensorflow as tf

    from twinrun.frameworks.tensorflow import loops

    def scan(dataset: Any, state: Any, function: Any) -> Any:
        def body(loop_state: Any, element: Any) -> Any:
            loops.keep_element(element)
            return function(loop_state, element)

        # What it wraps has been converted by AutoGraph already.
        return original(dataset, state, tf.autograph.experimental.do_not_convert(body))

    return scan


def apply_gradients(session: Session, original: Function) -> Function:
    """Around an optimizer's `apply_gradients(grads_and_vars, …)`."""
    observer = observer_of(session)

    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not observer.recorder.alive:
            return original(self, *args, **kwargs)
        # Pairs come as an iterator, most often, which can be read only once.
        pairs = list(args[0] if args else kwargs["grads_and_vars"])
        if args:
            args = (pairs, *args[1:])
        else:
            kwargs["grads_and_vars"] = pairs
        return observer.update(self, lambda: original(self, *args, **kwargs), [pair[1] for pair in pairs])

    return apply


# Sessions of TensorFlow 1


def _session_run(session: Session, original: Function) -> Function:
    """`Session.run` and `Session.make_callable`, with everything composite taken apart already."""
    sessions = observer_of(session).sessions
    sessions.read = original

    def run(self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any, metadata: Any) -> Any:
        if not sessions.recorder.alive:
            return original(self, options, feed_dict, fetch_list, target_list, metadata)
        graph = self.graph
        fetched = [graph._get_tensor_by_tf_output(one) for one in fetch_list]
        asked = fetched + [graph._get_operation_by_tf_operation(one) for one in target_list]
        feeds = [(graph._get_tensor_by_tf_output(one), value) for one, value in feed_dict.items()]

        def call(extra: list[Any]) -> Any:
            outputs = [*fetch_list, *(tensor._as_tf_output() for tensor in extra)]
            return original(self, options, feed_dict, outputs, target_list, metadata)

        return sessions.run(self, feeds, asked, call, can_fetch_more=True)

    return run


def _partial_run(session: Session, original: Function) -> Function:
    sessions = observer_of(session).sessions

    def run(self: Any, handle: Any, feed_dict: Any, fetch_list: Any) -> Any:
        if not sessions.recorder.alive:
            return original(self, handle, feed_dict, fetch_list)
        asked = [self.graph._get_tensor_by_tf_output(one) for one in fetch_list]
        feeds = [(self.graph._get_tensor_by_tf_output(one), value) for one, value in feed_dict.items()]
        return sessions.run(self, feeds, asked, lambda _: original(self, handle, feed_dict, fetch_list))

    return run


def _callable_init(session: Session, original: Function) -> Function:
    def __init__(self: Any, session: Any, callable_options: Any) -> None:  # noqa: N807
        original(self, session, callable_options)
        self._twinrun_options = callable_options

    return __init__


def _callable_call(session: Session, original: Function) -> Function:
    sessions = observer_of(session).sessions

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if not sessions.recorder.alive:
            return original(self, *args, **kwargs)
        graph, options = self._session.graph, self._twinrun_options
        asked = [graph.as_graph_element(name) for name in (*options.fetch, *options.target)]
        feeds = [
            (graph.as_graph_element(name), value) for name, value in zip(options.feed, args, strict=False)
        ]
        return sessions.run(self._session, feeds, asked, lambda _: original(self, *args, **kwargs))

    return __call__


def _session_close(session: Session, original: Function) -> Function:
    sessions = observer_of(session).sessions

    def close(self: Any) -> Any:
        if sessions.recorder.alive and not self._closed and sys._getframe(1).f_code.co_name != "__del__":
            try:
                sessions.on_close(self)
            except Exception as problem:
                sessions.recorder.trouble(problem)
        return original(self)

    return close


def _point(place: str, wrap: Wrap, reason: str, *needed_for: Need, entrance: str = "") -> Point:
    module, _, path = place.partition(":")
    full = f"tensorflow.python.{module}"
    return Point(
        f"{full}:{path}", wrap, reason, needed_for or ("verdict",), TESTED_ON,
        after="tensorflow", entrance=f"{full}:{entrance}" if entrance else "",
    )  # fmt: skip


def _session_point(path: str, wrap: Wrap, reason: str) -> Point:
    return _point(f"client.session:BaseSession.{path}", wrap, reason, entrance="BaseSession.__init__")


POINTS = (
    _point(
        "eager.polymorphic_function.polymorphic_function:Function.__call__", _function,
        "the outermost call of a tf.function is where a compiled step is seen from outside",
    ),
    _point(
        "ops.resource_variable_ops:BaseResourceVariable.__init__", _variable,
        "every variable is made here: weights, optimizer slots, states of generators",
    ),
    _point(
        "eager.backprop:GradientTape.gradient", _gradient,
        "the target is the loss of an eager step; without an optimizer, gradients announce a manual update",
    ),
    _point(
        "data.ops.iterator_ops:OwnedIterator._next_internal", _next,
        "elements are drawn from a dataset here, eagerly or inside a training function",
    ),
    _point(
        "data.ops.optional_ops:_OptionalImpl.get_value", _optional_value,
        "loops over an iterator inside a tf.function take their batch out of an optional", "cause",
    ),
    _point(
        "data.ops.dataset_autograph:_general_purpose_scan", _dataset_scan,
        "loops over a dataset inside a tf.function become a scan, whose body gets the batch", "cause",
    ),
    _point(
        "training.optimizer:Optimizer.apply_gradients", apply_gradients,
        "optimizers of TensorFlow 1, which some custom loops still use, update weights here",
        entrance="Optimizer.__init__",
    ),
    _session_point(
        "_call_tf_sessionrun", _session_run, "every run of a graph, with feeds and fetches as single tensors"
    ),
    _session_point("_call_tf_sessionprun", _partial_run, "a graph may be run in several parts"),
    _session_point(
        "_Callable.__init__", _callable_init, "what a prepared run feeds and fetches is given when it is made"
    ),
    _session_point("_Callable.__call__", _callable_call, "tf_keras without eager execution runs its graph so"),
    _session_point("close", _session_close, "a session's variables end with it"),
)  # fmt: skip
