"""Recordings of these tests go to a folder of their own, and programs may have a framework that starts at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from pages import blocks, install

# How long an example takes says something about the machine and nothing about the code. The examples are the same in every
# run: also those that hypothesis makes of constants in modules, which depend on what was imported by then.
settings.register_profile("twinrun", deadline=None, derandomize=True)
settings.load_profile("twinrun")
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


# Whoever starts the tests in the background makes them deaf to Ctrl-C or to a terminal that hangs up, and with them
# every command that they start and then stop in that way.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much of tests/hard is run. `make test` takes what stands here; `make hard` asks for more."""
    hard = parser.getgroup("hard", "tests/hard").addoption
    hard("--kills", type=int, default=6, help="checks of which a process is killed")
    hard("--soak", type=int, default=8, help="checks of small programs in one process, under varying load")
    hard("--soak-tensorflow", type=int, default=0, help="how many of them train with TensorFlow")
    hard("--fills", type=int, default=4, help="checks during which the disk fills")
    hard("--at-once", type=int, default=10, help="checks of TensorFlow programs at the same time")
    hard("--long", type=int, default=200_000, metavar="STEPS", help="steps of one long check")
    hard(
        "--fuzz",
        type=float,
        default=1.0,
        metavar="MINUTES",
        help="of changing files of every format at random",
    )
    hard("--seed", type=int, default=1, help="of the random choices")
    hard("--figures", metavar="FILE", help="where to write what was measured, as JSON")


# What whoever starts the tests may have set, and what changes what is printed or computed.
_OUTSIDE = (
    "NO_COLOR", "FORCE_COLOR", "COLUMNS", "KERAS_BACKEND", "OMP_NUM_THREADS", "XLA_FLAGS", "GITHUB_STEP_SUMMARY",
    "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE",
)  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("TWINRUN_HOME", str(tmp_path_factory.mktemp("twinrun")))
        for name in ("PYTHONPATH", *_OUTSIDE):
            variables.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def tinynet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The framework of docs/how-to/add-a-framework.md, installed for every program of these tests."""
    page = blocks("add-a-framework.md")
    del page["train.py"]
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("PYTHONPATH", str(install(page, tmp_path_factory.mktemp("tinynet"))))
        yield
