"""Another order of directory listings: what a different file system would give."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from twinrun.twin.standin import stand_in


def reverse_listings() -> None:
    """Reverse of the sorted order: glob, pathlib and os.walk all stand on these two calls."""
    listdir, scandir = os.listdir, os.scandir

    def reversed_listdir(path: Any = ".") -> list[Any]:
        return sorted(listdir(path), reverse=True)

    class ReversedScan:
        def __init__(self, path: Any) -> None:
            self._scan = scandir(path)
            self._entries = iter(sorted(self._scan, key=lambda entry: entry.name, reverse=True))

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            return next(self._entries)

        def __enter__(self) -> ReversedScan:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self._scan.close()

    def reversed_scandir(path: Any = ".") -> Any:
        return ReversedScan(path)

    stand_in("listdir", reversed_listdir)
    stand_in("scandir", reversed_scandir)
