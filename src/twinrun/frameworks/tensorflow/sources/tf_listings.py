"""Directory listings that TensorFlow makes by itself, unseen by Python: uses of the source in sources/file_listing.py."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from twinrun.frameworks.packages import tf_point
from twinrun.protocol import Point, Source
from twinrun.protocol.point import Wrap
from twinrun.sources.file_listing import ordered
from twinrun.twin.callers import Caller, caller

# By the function that the user's line called.
_CALLS = {
    "list_directory": "tf.io.gfile.listdir",
    "list_directory_v2": "tf.io.gfile.listdir",
    "walk": "tf.io.gfile.walk",
    "walk_v2": "tf.io.gfile.walk",
    "get_matching_files": "tf.io.gfile.glob",
    "get_matching_files_v2": "tf.io.gfile.glob",
}


def _direct(who: Caller | None) -> Caller | None:
    """What the user's line calls in tf.io.gfile only hands the listing on, as the functions of os do."""
    return replace(who, via="") if who is not None and who.entry in _CALLS else who


def _listing(call: str, *, of_folder: bool) -> Wrap:
    """`call`: what it is named where a library has called it. `of_folder`: its argument is one, and its result all that is
    there."""

    def wrap(session: Any, original: Any) -> Any:
        def listed(path: Any) -> list[Any]:
            who, items = caller(), original(path)
            name = _CALLS.get(who.entry, call) if who is not None else call
            folder = os.fsdecode(path) if of_folder else None
            return ordered(session, _direct(who), folder, items, name, lambda item: item)

        return listed

    return wrap


def _point(function: str, call: str, *, of_folder: bool) -> Point:
    wrap = _listing(f"tf.io.gfile.{call}", of_folder=of_folder)
    return tf_point(f"lib.io._pywrap_file_io:{function}", wrap, f"directory listings of tf.io.gfile.{call}")


class TfListings(Source):
    name = "tf-listings"
    codes = ("TW302",)
    # Below tf.io.gfile, and all of TensorFlow's own Python. walk is built on listdir.
    points = (
        _point("GetChildren", "listdir", of_folder=True),
        _point("GetMatchingFiles", "glob", of_folder=False),
    )
