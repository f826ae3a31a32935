"""Sites and places: what an experiment holds still, and how a user would write where it is."""

from __future__ import annotations

import os

from twinrun.diagnose.evidence import Row
from twinrun.diagnose.suspect import Site

# Libraries through which a user's own line draws or looks outside: the line is to blame as if it had done it itself.
OWN_ROADS = (
    "", "uuid", "secrets", "random", "numpy", "glob", "pathlib", "os", "concurrent", "threading", "tempfile",
    "multiprocessing",
)  # fmt: skip


def by_own_road(row: Row) -> bool:
    return row["via"] in OWN_ROADS


def by_library(row: Row) -> bool:
    """Drawn inside a library that the user's line called; not while one was being imported."""
    return not by_own_road(row) and row["via"] not in ("importlib", "runpy")


def site(row: Row) -> Site:
    return (row["kind"], row["file"], row["line"])


def place(row: Row) -> str:
    return f"{relative(row['file'])}:{row['line']}"


def relative(path: str) -> str:
    """As a user would write it: from where they stand, when it lies below."""
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
