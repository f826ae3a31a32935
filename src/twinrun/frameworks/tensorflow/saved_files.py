"""What TensorFlow's own files hold, whatever their bytes: the tensors of a checkpoint, and the ops and constants of a
SavedModel, whose generated names differ from run to run. `python -m` of this module prints it as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import xxhash


def read(path: Path) -> dict[str, str]:
    if path.name == "saved_model.pb":
        return _graph(path)
    if path.name == "fingerprint.pb" and (path.parent / "saved_model.pb").is_file():
        return {}  # made from the other files, and a random number
    prefix = re.sub(r"\.index$|\.data-\d{5}-of-\d{5}$", "", str(path))
    # The index is read for all of its shards.
    return _tensors(prefix) if path.suffix == ".index" or not Path(f"{prefix}.index").is_file() else {}


def _tensors(prefix: str) -> dict[str, str]:
    import tensorflow as tf

    reader = tf.train.load_checkpoint(prefix)
    names = [name for name in reader.get_variable_to_shape_map() if name != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    found = {name: _digest(reader.get_tensor(name)) for name in sorted(names)}
    # Keras numbers the variables of an exported model in the order of a set.
    numbered = sorted(name for name in found if name.startswith("_all_variables/"))
    return found | dict(zip(numbered, sorted(found[name] for name in numbered), strict=True))


def _digest(value: Any) -> str:
    import numpy as np

    array = np.asarray(value)
    data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return xxhash.xxh3_128_hexdigest(f"{array.dtype}{array.shape}".encode() + data)


def _graph(path: Path) -> dict[str, str]:
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    ops: Counter[str] = Counter()
    constants: Counter[str] = Counter()
    for graph in model.meta_graphs:
        bodies = [graph.graph_def.node, *(function.node_def for function in graph.graph_def.library.function)]
        for node in (node for body in bodies for node in body):
            ops[node.op] += 1
            tensor = node.attr["value"].tensor if node.op == "Const" else None
            if tensor is not None and tensor.dtype != 7:  # not of strings: they hold names and paths
                constants[xxhash.xxh3_128_hexdigest(tensor.SerializeToString(deterministic=True))] += 1
    found = {"ops": ops, "constants": constants}
    return {
        part: xxhash.xxh3_128_hexdigest(repr(sorted(count.items())).encode()) for part, count in found.items()
    }


if __name__ == "__main__":
    print(json.dumps([read(Path(word)) for word in sys.argv[1:]]))
