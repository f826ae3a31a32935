"""What `make test-trackers` installs, in a folder of its own: tests that need one of the packages are skipped without it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PACKAGES = Path(sys.prefix) / "trackers" / "site-packages"


def needs(package: str) -> pytest.MarkDecorator:
    there = (PACKAGES / package).is_dir()
    return pytest.mark.skipif(not there, reason=f"{package} is not there (make test-trackers installs it)")


def path() -> str:
    """For PYTHONPATH: these packages, and what is there already."""
    return os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))
