"""Names of the files that TensorFlow's own readers open, unseen by Python, for the environment's digests.

Seen to work on TensorFlow 2.21; where a patch point is missing it is left out. Names that are computed inside
a graph (`tf.io.read_file` in a map) are not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.python.data.ops import readers
from tensorflow.python.ops import gen_io_ops

from twinrun.launch.watch import Watch

MOST = 5000  # names; the environment keeps digests of fewer


def install(watch: Watch) -> None:
    """Adds to the answer on `inputs`: record, line and CSV datasets, listed files, files read eagerly."""
    names: dict[str, None] = {}

    def note(value: Any) -> None:
        if len(names) < MOST:
            names.update(dict.fromkeys(_paths(value)))

    for module, name, of_result in (
        (readers, "_create_or_validate_filenames_dataset", False),
        (gen_io_ops, "matching_files", True),
        (gen_io_ops, "read_file", False),
    ):
        if hasattr(module, name):
            setattr(module, name, _noting(getattr(module, name), note, of_result=of_result))
    before: Callable[[dict[str, Any]], Any] = watch.answers.get("inputs", lambda _: [])
    watch.answers["inputs"] = lambda question: [*before(question), *names]


def _noting(
    original: Callable[..., Any], note: Callable[[Any], None], *, of_result: bool
) -> Callable[..., Any]:
    def read(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        given = result if of_result else args[0] if args else kwargs.get("filenames", kwargs.get("filename"))
        try:
            note(given)
        except Exception:  # a name that cannot be noted must not stop the file from being read
            return result
        return result

    read.__name__, read.__doc__ = original.__name__, original.__doc__
    return read


def _paths(value: Any) -> list[str]:
    """Strings, lists of them, and tensors that have a value; a symbolic name is not known yet."""
    if isinstance(value, (str, bytes)):
        items: list[Any] = [value]
    elif isinstance(value, (list, tuple)):
        items = list(value)
    elif hasattr(value, "numpy"):
        items = list(value.numpy().reshape(-1)) if value.shape.rank else [value.numpy()]
    else:
        return []
    texts = [each.decode("utf-8", "surrogateescape") if isinstance(each, bytes) else each for each in items]
    return [each for each in texts if isinstance(each, str) and "://" not in each]
