"""Files that TensorFlow opens by itself, unseen by Python: inputs of the program like any other.

Names that are computed inside a graph (`tf.io.read_file` in a map) are not known here, except those that the dataset
was made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from twinrun.frameworks.packages import tf_point
from twinrun.protocol.point import Wrap
from twinrun.protocol.source import Source
from twinrun.twin.callers import caller

Names = Callable[[Any], Iterable[Any]]  # of the files, from a reader's first argument or its result
_MOST = 1000  # files of one call


def _records(names: Names, *, of_result: bool = False) -> Wrap:
    """Records the files of a call. Before they are read: what the program does with them may change them."""

    def wrap(session: Any, original: Any) -> Any:
        def record(value: Any) -> None:
            try:
                who = caller(3)
                for name in islice(names(value), _MOST):
                    session.inputs.record_read(name, who)
            except Exception:  # a name that cannot be recorded must not keep the file from being read
                return

        function = original.__func__ if isinstance(original, staticmethod) else original

        def read(*args: Any, **kwargs: Any) -> Any:
            if not of_result:
                record(args[0] if args else next(iter(kwargs.values()), None))
            result = function(*args, **kwargs)
            if of_result:
                record(result)
            return result

        return staticmethod(read) if isinstance(original, staticmethod) else read

    return wrap


def _texts(value: Any) -> list[Any]:
    """Strings, lists of them, and tensors that have a value; a symbolic name is not known yet."""
    import numpy as np

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
    if isinstance(structure, dict):
        structure = tuple(structure.values())
    found = []
    for part in structure if isinstance(structure, tuple) else (structure,):
        names = _texts(part)
        if names and os.path.isfile(names[0]):  # noqa: PTH113  # bytes too
            found += names
    return found


_NAMED, _FOUND = _records(_texts), _records(_texts, of_result=True)
_SLICED = _records(_files_among)


class TfFiles(Source):
    name = "tf-files"
    codes = ("TW304",)
    points = (
        # Below tf.io.gfile, checkpoints' state files, and all of TensorFlow's own Python.
        tf_point("lib.io._pywrap_file_io:FileExists", _NAMED, "files looked for through tf.io.gfile"),
        tf_point("lib.io._pywrap_file_io:BufferedInputStream", _NAMED, "files read through tf.io.gfile"),
        tf_point("lib.io._pywrap_file_io:GetMatchingFiles", _FOUND, "files found by a pattern"),
        tf_point(
            "training.py_checkpoint_reader:NewCheckpointReader", _records(_of_checkpoint), "checkpoints read"
        ),
        tf_point("data.ops.readers:_create_or_validate_filenames_dataset", _NAMED, "files of a dataset"),
        tf_point("ops.gen_io_ops:read_file", _NAMED, "files read by an op"),
        tf_point("ops.gen_io_ops:matching_files", _FOUND, "files found by an op"),
        tf_point("data.ops.dataset_ops:DatasetV2.from_tensor_slices", _SLICED, "names that become a dataset"),
    )
