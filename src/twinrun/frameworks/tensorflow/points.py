"""The usual ways in which a point of TensorFlow or Keras reports to the observer. Loaded without either."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twinrun.protocol.point import Wrap
from twinrun.protocol.seeds import derive

if TYPE_CHECKING:
    from twinrun.frameworks.tensorflow.observer import Observer
    from twinrun.twin.session import Session

LARGEST = 2**31 - 1  # of the seeds that TensorFlow's ops take
Function = Callable[..., Any]
Handler = Callable[["Observer"], Function]  # takes what handles a call from the observer, once


def op_seed(seed: int, purpose: str) -> int:
    """A seed for one purpose, within the range that TensorFlow's ops take."""
    return derive(seed, purpose, below=LARGEST)


def bind(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments of a call by name. None where they do not fit: the original is to say so."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None


def observer_of(session: Session) -> Observer:
    """One observer for a twin: TensorFlow and both kinds of Keras share it."""
    from twinrun.frameworks.tensorflow.observer import observer_for

    assert session.recorder is not None  # steps are seen in twins alone
    return observer_for(session.recorder)


def around(handler: Handler) -> Wrap:
    """The handler is called with the original and the arguments, and gives the result."""

    def wrap(session: Session, original: Function) -> Function:
        observer = observer_of(session)
        recorder, handle = observer.recorder, handler(observer)

        def replacement(*args: Any, **kwargs: Any) -> Any:
            if not recorder.alive:
                return original(*args, **kwargs)
            return handle(original, *args, **kwargs)

        return replacement

    return wrap


def after(handler: Handler) -> Wrap:
    """The handler is called with the result and the arguments, after the original."""

    def bound(observer: Observer) -> Function:
        guard, handle = observer.guard, handler(observer)

        def call(original: Function, *args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            with guard:
                handle(result, *args, **kwargs)
            return result

        return call

    return around(bound)
