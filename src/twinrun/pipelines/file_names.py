"""File names that a pipeline begins with, and whether they stand in the order of a directory listing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twinrun.pipelines.pipeline_stages import Pipeline, Stage


def files_in_listing_order(
    stages: tuple[Stage, ...], pipeline: Pipeline
) -> Iterator[tuple[Stage, list[str], str]]:
    """Sources of file names in the order in which the directory lists them today, which is not sorted."""
    for stage in stages:
        names = _file_names(pipeline.datasets.get(stage.number)) if stage.op == "TensorSliceDataset" else []
        folder = _in_listing_order(names)
        if folder is not None:
            yield stage, names, folder


def _file_names(dataset: Any) -> list[str]:
    tensors = (
        []
        if dataset is None
        else [one for one in dataset._tensors if one.dtype.name == "string" and one.shape.rank == 1]
    )
    for tensor in tensors:
        if hasattr(tensor, "numpy") and 3 <= tensor.shape[0] <= 1_000_000:
            names = [os.fsdecode(name) for name in tensor.numpy()]
            if all(os.sep in name for name in names[:3]) and Path(names[0]).exists():
                return names
    return []


def _in_listing_order(names: list[str]) -> str | None:
    """The folder whose present listing gives exactly this order, if that is not the sorted order anyway."""
    if not names or names == sorted(names):
        return None
    by_folder: dict[str, list[str]] = {}
    for name in names:
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
