"""Recordings of these tests go to a folder of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says something about the machine and nothing about the code.
settings.register_profile("twinrun", deadline=None)
settings.load_profile("twinrun")


# Whoever starts the tests in the background makes them deaf to Ctrl-C or to a terminal that hangs up, and with them
# every command that they start and then stop in that way.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("TWINRUN_HOME")
    os.environ["TWINRUN_HOME"] = str(tmp_path_factory.mktemp("twinrun"))
    yield
    if before is None:
        del os.environ["TWINRUN_HOME"]
    else:
        os.environ["TWINRUN_HOME"] = before
