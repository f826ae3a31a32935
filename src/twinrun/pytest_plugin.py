"""The pytest plugin: the `twinrun` marker and fixture. Imports nothing but pytest until a test needs more, so that
collecting tests loads no framework and none of Twinrun's own heavy parts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from twinrun.baselines.outcome import BaselineResult
    from twinrun.result import CheckResult

# Set in the twins of a test: there the marker means nothing and the test simply runs. Names the file in which a twin
# leaves the reason where it skips the test.
INNER = "TWINRUN_PYTEST_TWIN"
_BROKE = pytest.StashKey[int]()  # how often Twinrun itself broke in this session


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("twinrun", "repeatable training").addoption
    strict = "What could not be judged is an error, not a skipped test."
    add("--twinrun-strict", action="store_true", help=strict)
    record = "Record the baselines that this environment does not have yet."
    add("--twinrun-record", action="store_true", help=record)
    add("--twinrun-accept", metavar="REASON", help="Replace the baselines that no longer hold.")
    add("--twinrun-store", metavar="PLACE", help="Folder or fsspec address of the baselines.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "twinrun(runs=2, contract='bitwise', steps=None, pin=None, vary=None, timeout=None, …): run this test, "
        "which trains, in twin processes; it passes when they repeat. Takes the options of twinrun.check",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if INNER in os.environ:
        return
    for item in items:
        marker = item.get_closest_marker("twinrun")
        if marker is not None:
            _put_into_twins(item, marker)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In a twin: a skipped test trains nothing, and the reason is worth more than that no step was seen."""
    if report.skipped and (file := os.environ.get(INNER)):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        Path(file).write_text(reason, encoding="utf-8")


def _put_into_twins(item: pytest.Item, marker: pytest.Mark) -> None:
    """The test's own fixtures and body run in the twins alone: here, its set-up runs the twins and its call judges."""
    results: list[CheckResult] = []

    def setup() -> None:
        result = _run_twins(item, _options(marker))
        results.append(result)
        if result.verdict == "undecided" and result.reason_kind != "crashed":
            _undecided(item.config, result)

    def runtest() -> None:
        result = results[0]
        if result.verdict == "diverges":
            _fail(result)
        if result.verdict == "undecided":
            pytest.fail(f"the test fails in its twin:\n{_printed(result)}", pytrace=False)

    item.setup = setup  # type: ignore[method-assign]
    item.runtest = runtest  # type: ignore[method-assign]


def _options(marker: pytest.Mark) -> Mapping[str, Any]:
    """What the marker gives. A bad marker is an error of its own test, and of no other."""
    from inspect import signature

    from twinrun.api import check

    parameters = signature(check).parameters.values()
    known = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.name != "module"]
    unknown = sorted(set(marker.kwargs) - set(known))
    if marker.args or unknown:
        what = ", ".join(unknown) or "positional arguments"
        pytest.fail(
            f"unknown option of the twinrun marker: {what}; it takes {', '.join(known)}", pytrace=False
        )
    return marker.kwargs


def _run_twins(item: pytest.Item, options: Mapping[str, Any]) -> CheckResult:
    from twinrun.api import check

    config = item.config
    arguments = ["-q", "--no-header", "-p", "no:cacheprovider", "-o", "addopts="]
    arguments += ["--rootdir", str(config.rootpath)]
    if config.inipath is not None:
        arguments += ["-c", str(config.inipath)]
    inside = item.nodeid.partition("::")[2]
    with tempfile.TemporaryDirectory() as folder:
        skipped = Path(folder) / "skipped"
        with _environment_of_a_twin(str(skipped)), _our_own_faults(config):
            how = {"show_arguments": True, **options}  # they are all ours
            result = check("pytest", *arguments, f"{item.path}::{inside}", module=True, **how)
        if result.reason_kind == "no-step" and skipped.is_file():
            _skip(skipped.read_text(encoding="utf-8").removeprefix("Skipped: "))
    return result


@contextmanager
def _our_own_faults(config: pytest.Config) -> Iterator[None]:
    """Where Twinrun itself breaks, the test is an error that says so, whatever the test trained."""
    from twinrun.errors import TwinrunError

    try:
        yield
    except TwinrunError:
        raise
    except Exception as problem:
        if problem.__traceback__ is None or problem.__traceback__.tb_next is None:
            raise  # an argument that our function does not take: it was never entered
        from twinrun.crash import internal_error

        config.stash[_BROKE] = config.stash.get(_BROKE, 0) + 1
        pytest.fail(internal_error(), pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Failed tests end pytest with 1, which here would mean that something diverges."""
    broke = session.config.stash.get(_BROKE, 0)
    if broke and session.testsfailed == broke:
        session.exitstatus = pytest.ExitCode.INTERRUPTED


@contextmanager
def _environment_of_a_twin(skipped: str = "") -> Iterator[None]:
    """What a twin inherits: that it is one, and nothing of how this pytest was started."""
    hidden = [
        name for name in os.environ if name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST") or "_XDIST_" in name
    ]
    kept = {name: os.environ.pop(name) for name in hidden}
    os.environ[INNER] = skipped
    try:
        yield
    finally:
        del os.environ[INNER]
        os.environ.update(kept)


def _printed(result: CheckResult) -> str:
    """What pytest printed inside the first twin that printed anything."""
    from twinrun.terminal import printable

    for recording in result.recordings:
        printed = Path(recording) / "stdout.txt"
        if printed.is_file() and (text := printed.read_text(errors="replace").strip()):
            return printable(text[-6000:])
    return printable(f"{result.reason}\n{result.output_tail or ''}")


def _undecided(config: pytest.Config, result: CheckResult, hint: str = "") -> NoReturn:
    from twinrun.terminal import inline

    message = inline(f"{result.label}: {result.reason or 'the twins could not be judged'}{hint}")
    if config.getoption("--twinrun-strict"):
        pytest.fail(message, pytrace=False)
    _skip(message)


def _skip(reason: str) -> NoReturn:
    """At the place of the test, as a mark would: pytest sums up skipped tests by place."""
    raise pytest.skip.Exception(reason, _use_item_location=True)


def _fail(result: CheckResult) -> NoReturn:
    from twinrun.render import rendered

    pytest.fail(rendered([("", result)], "text"), pytrace=False)


class Twinrun:
    """What the fixture `twinrun` gives to a test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config = request.config
        self._node = request.node

    def check(self, program: Any, *arguments: str, **options: Any) -> CheckResult:
        """Run a program (a path, a module with `module=True`, or an importable function) in twins. The test fails
        when they diverge and is skipped when they cannot be judged."""
        from twinrun.api import check

        with _environment_of_a_twin(), _our_own_faults(self._config):
            result = check(program, *arguments, **options)
        if result.verdict == "diverges":
            _fail(result)
        if result.verdict == "undecided":
            _undecided(self._config, result)
        return result

    def baseline(
        self, name: str, model: Any, *, contract: str = "bitwise", metrics: Mapping[str, float] | None = None
    ) -> BaselineResult:
        """Compare what this test trained with the baseline of this environment. `model` is a Keras model, or
        arrays by name; `metrics` are losses and scores to keep with it."""
        from twinrun.baselines import verbs
        from twinrun.baselines.store import open_store
        from twinrun.baselines.trained_model import observe_model

        option = self._config.getoption
        with _our_own_faults(self._config):
            observed = observe_model(
                model, metrics or {}, contract, str(self._node.nodeid), self._config.rootpath
            )
            store = open_store(option("--twinrun-store"), self._config.rootpath)
            result = verbs.check(store, name, observed)
        verdict = result.verdict
        if verdict == "undecided" and result.baseline.file is None and option("--twinrun-record"):
            return verbs.record(store, name, contract, observed)
        if verdict == "diverges" and (reason := option("--twinrun-accept")):
            return verbs.accept(store, name, reason, observed, contract)
        if verdict == "undecided":
            _undecided(self._config, result, "; record one with `pytest --twinrun-record`")
        if verdict == "diverges":
            _fail(result)
        return result


@pytest.fixture
def twinrun(request: pytest.FixtureRequest) -> Twinrun:
    """`twinrun.check(program)` and `twinrun.baseline(name, model)`."""
    return Twinrun(request)
