"""Files that TensorFlow opens by itself, unseen by Python: they are inputs of the program like any other.

Seen to work on TensorFlow 2.18 to 2.21; where a patch point is missing it is left out. Names that are computed inside a
graph (`tf.io.read_file` in a map) are not known here, but for those that the dataset was made of.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow.python.data.ops import dataset_ops, readers
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import gen_io_ops
from tensorflow.python.training import py_checkpoint_reader

from twinrun.sources.input_files import MOST
from twinrun.twin.event_log import Book, caller

Names = Callable[[Any], Iterable[Any]]  # of the files, from what a reader was given or what it gave back


def install(book: Book) -> None:
    host = (
        file_io._pywrap_file_io
    )  # under tf.io.gfile, checkpoints' state files, and all of TensorFlow's own Python
    _note_before(book, host, "FileExists", _texts)
    _note_before(book, host, "BufferedInputStream", _texts)
    _note_after(book, host, "GetMatchingFiles", _texts)
    _note_before(book, py_checkpoint_reader, "NewCheckpointReader", _of_checkpoint)
    _note_before(book, readers, "_create_or_validate_filenames_dataset", _texts)
    _note_before(book, gen_io_ops, "read_file", _texts)
    _note_after(book, gen_io_ops, "matching_files", _texts)
    dataset = dataset_ops.DatasetV2
    dataset.from_tensor_slices = staticmethod(
        _noting(book, dataset.from_tensor_slices, _files_among, of_result=False)
    )


def _note_before(book: Book, module: Any, name: str, names: Names) -> None:
    if hasattr(module, name):
        setattr(module, name, _noting(book, getattr(module, name), names, of_result=False))


def _note_after(book: Book, module: Any, name: str, names: Names) -> None:
    if hasattr(module, name):
        setattr(module, name, _noting(book, getattr(module, name), names, of_result=True))


def _noting(book: Book, original: Callable[..., Any], names: Names, *, of_result: bool) -> Callable[..., Any]:
    """Before a file is read: what the program goes on to do with it may change it."""

    def read(*args: Any, **kwargs: Any) -> Any:
        if not of_result:
            note(args[0] if args else next(iter(kwargs.values()), None))
        result = original(*args, **kwargs)
        if of_result:
            note(result)
        return result

    def note(value: Any) -> None:
        try:
            who = caller(3)
            for number, name in enumerate(names(value)):
                if number == MOST:
                    return
                book.meet(name, who)
        except Exception:  # a name that cannot be noted must not stop the file from being read
            return

    read.__name__, read.__doc__ = getattr(original, "__name__", "read"), original.__doc__
    return read


def _texts(value: Any) -> list[Any]:
    """Strings, lists of them, and tensors that have a value; a symbolic name is not known yet."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return [value]
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, (str, bytes, os.PathLike))]
    if isinstance(value, np.ndarray):
        return _texts(value.reshape(-1).tolist())
    return _texts(np.asarray(value.numpy())) if hasattr(value, "numpy") else []


def _of_checkpoint(prefix: Any) -> list[str]:
    path = Path(os.fsdecode(_texts(prefix)[0]))
    return [f"{path}.index", *map(str, path.parent.glob(f"{path.name}.data-*"))]


def _files_among(structure: Any) -> list[Any]:
    """The names of files in what a dataset is made of."""
    parts = (
        structure.values()
        if isinstance(structure, dict)
        else structure
        if isinstance(structure, tuple)
        else [structure]
    )
    found = []
    for part in parts:
        names = _texts(part)
        if names and os.path.isfile(names[0]):  # noqa: PTH113  # bytes too
            found += names
    return found
