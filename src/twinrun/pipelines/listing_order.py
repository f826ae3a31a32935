"""File names at the start of a pipeline, and whether they come in the order of a directory listing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twinrun.pipelines.pipeline_stages import Pipeline, Stage


def files_in_listing_order(pipeline: Pipeline) -> Iterator[tuple[Stage, list[str], str]]:
    """(stage, names, folder): sources of file names in the folder's present listing order, where that is not sorted."""
    for stage in pipeline.stages:
        dataset = pipeline.datasets.get(stage.number)
        if stage.op == "TensorSliceDataset" and dataset is not None:
            names = _file_names(dataset)
            folder = _folder_listed(names)
            if folder is not None:
                yield stage, names, folder


def _file_names(dataset: Any) -> list[str]:
    for tensor in dataset._tensors:
        is_list = tensor.dtype.name == "string" and tensor.shape.rank == 1
        if is_list and hasattr(tensor, "numpy") and 3 <= tensor.shape[0] <= 1_000_000:
            names = [os.fsdecode(name) for name in tensor.numpy()]
            if all(os.sep in name for name in names[:3]) and Path(names[0]).exists():
                return names
    return []


def _folder_listed(names: list[str]) -> str | None:
    """The folder whose listing has exactly this order, if that is not the sorted order anyway."""
    by_folder: dict[str, list[str]] = {}
    for name in names if names != sorted(names) else ():
        by_folder.setdefault(str(Path(name).parent), []).append(Path(name).name)
    for folder, members in by_folder.items():
        wanted = set(members)
        try:
            with os.scandir(folder) as listing:
                listed = [entry.name for entry in listing if entry.name in wanted]
        except OSError:
            return None
        if len(members) >= 3 and members == listed and members != sorted(members):
            return folder
    return None
