"""The lines that give each worker its share of a dataset: `shard`, and a strategy that shards by its own policy."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from twinrun.frameworks.packages import tf_point
from twinrun.protocol import Source
from twinrun.twin.callers import caller

NAME = "shards"
_READER = re.compile(r"(TFRecord|TextLine|FixedLengthRecord|ArrayRecord|RecordIO|SSTable)Dataset")


class Shared(msgspec.Struct, frozen=True):
    workers: int = 0
    policy: str = ""  # of a strategy


def _shard(session: Any, original: Any) -> Any:
    def shard(self: Any, num_shards: Any, index: Any, name: Any = None) -> Any:
        who = caller()
        if who is not None and not who.via:  # not inside another function of the library
            session.log.record(NAME, "shard", who, "shard", detail=Shared(_number(num_shards)))
        return original(self, num_shards, index, name)

    return shard


def _auto_shard(session: Any, original: Any) -> Any:
    def auto_shard_dataset(dataset: Any, num_shards: Any, index: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(AttributeError):  # a dataset of another kind has a policy of its own
            policy = dataset.options().experimental_distribute.auto_shard_policy.name
            detail = Shared(_number(num_shards), policy)
            chosen = _chosen(dataset) if policy == "AUTO" else ""
            call = f"auto_shard_policy {policy}" + (f", which is {chosen} here" if chosen else "")
            session.log.record(NAME, "auto-shard", caller(), call, detail=detail)
        return original(dataset, num_shards, index, *args, **kwargs)

    return auto_shard_dataset


def _chosen(dataset: Any) -> str:
    """The policy that AUTO comes to: FILE where files are read by an op that TensorFlow knows, also in a function whose
    datasets are strung together, else DATA. Empty where that is not known."""
    waiting, known = [dataset], True
    try:
        while waiting:
            one = waiting.pop()
            name = type(one).__name__
            strung = "Interleave" in name or "FlatMap" in name
            functions = [each.function.graph for each in one._functions()] if strung else []
            if _READER.search(name) or any(map(_reads_files, functions)):
                return "FILE"
            known = known and name != "_VariantDataset"  # one whose making is not known
            waiting += one._inputs()
    except (AttributeError, NotImplementedError):  # a dataset of another kind
        return ""
    return "DATA" if known else ""


def _reads_files(graph: Any) -> bool:
    made = graph.as_graph_def()
    nodes = [*made.node, *(node for function in made.library.function for node in function.node_def)]
    return any(_READER.search(node.op) for node in nodes)


def _number(count: Any) -> int:
    return count if isinstance(count, int) else 0


def _new_pass(session: Any, original: Any) -> Any:
    def __iter__(self: Any) -> Any:  # noqa: N807
        if session.recorder is not None and session.recorder.share is not None:
            session.recorder.share.begin_pass()
        return original(self)

    return __iter__


class Shards(Source):
    name = NAME
    codes = ("TW602",)
    points = (
        tf_point("data.ops.dataset_ops:DatasetV2.shard", _shard, "a worker's share of a dataset"),
        tf_point("distribute.input_ops:auto_shard_dataset", _auto_shard, "the share that a strategy gives a worker"),
        tf_point("data.ops.dataset_ops:DatasetV2.__iter__", _new_pass, "a pass over the data begins"),
        tf_point("distribute.input_lib:DistributedDataset.__iter__", _new_pass, "a pass over the data begins"),
        tf_point(
            "distribute.input_lib:DistributedDatasetsFromFunction.__iter__", _new_pass, "a pass over the data begins"
        ),
    )  # fmt: skip
