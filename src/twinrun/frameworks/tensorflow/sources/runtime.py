"""Whether TensorFlow's runtime has started: from then on, threads and devices cannot be changed."""

from __future__ import annotations


def is_started() -> bool:
    """By a first op, or by asking for the devices. Asking this starts nothing."""
    from tensorflow.python.eager import context

    return getattr(context.context(), "_context_handle", None) is not None
