"""The lines that give each worker its share of a dataset: `shard`, and a strategy that shards by its own policy."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from twinrun.frameworks.packages import tf_point
from twinrun.protocol import Source
from twinrun.twin.callers import caller

NAME = "shards"


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
            session.log.record(NAME, "auto-shard", caller(), f"auto_shard_policy {policy}", detail=detail)
        return original(dataset, num_shards, index, *args, **kwargs)

    return auto_shard_dataset


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
