"""Where baselines are kept: names, writers at once, places that cannot be written, and damaged files."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from baseline_runs import environment, frames, observed, with_digest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.baselines import verbs
from twinrun.baselines.store import FOLDER, FsspecStore, LocalStore, Store, checked_name, file_of, open_store
from twinrun.errors import BadBaseline, CannotWrite, UsageError
from twinrun.result import DIVERGES, REPEATS, UNDECIDED


@pytest.fixture(params=["folder", "fsspec"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "fsspec":
        return FsspecStore(f"memory://{tmp_path.name}")
    return LocalStore(tmp_path / FOLDER)


OTHER = frames()
OTHER[4] = with_digest(OTHER[4], 2, 99)


@pytest.mark.parametrize(
    "name", ["../evil", "..", ".", "a/b", "", "a" * 65, "a..b", ".hidden", "a b", "a\n", "~", "é"]
)
def test_a_name_that_climbs_or_confuses_is_refused(name: str, store: Store) -> None:
    with pytest.raises(UsageError, match="not a name"):
        verbs.record(store, name, "bitwise", observed())
    with pytest.raises(UsageError):
        verbs.check(store, name, observed())


@given(st.text(max_size=20))
def test_an_allowed_name_stays_in_its_folder(name: str) -> None:
    try:
        checked_name(name)
    except UsageError:
        return
    assert (Path("/store") / name).resolve().parent == Path("/store")


def test_recorded_then_checked_repeats_and_a_change_diverges(store: Store) -> None:
    assert verbs.record(store, "mnist", "bitwise", observed()).baseline.action == "recorded"
    assert verbs.check(store, "mnist", observed()).verdict == REPEATS
    left = verbs.check(store, "mnist", observed(OTHER))
    assert left.verdict == DIVERGES
    assert left.first_difference is not None
    assert (left.first_difference.step, left.first_difference.tensor) == (5, "kernel")


def test_recording_again_changes_nothing_when_the_bits_are_the_same_and_is_refused_when_not(
    store: Store,
) -> None:
    verbs.record(store, "mnist", "bitwise", observed())
    (file,) = store.files("mnist")
    before = store.read("mnist", file)
    assert verbs.record(store, "mnist", "bitwise", observed()).baseline.action == "unchanged"
    with pytest.raises(UsageError, match="already, with other bits"):
        verbs.record(store, "mnist", "bitwise", observed(OTHER))
    with pytest.raises(UsageError, match="already, with the contract"):
        verbs.record(store, "mnist", "ulp=4", observed())
    assert store.read("mnist", file) == before


def test_accepting_replaces_and_keeps_the_reason_and_what_was_replaced(store: Store) -> None:
    verbs.record(store, "mnist", "bitwise", observed())
    verbs.accept(store, "mnist", "a better kernel", observed(OTHER))
    assert verbs.check(store, "mnist", observed(OTHER)).verdict == REPEATS
    verbs.accept(store, "mnist", "and back", observed())
    (baseline,) = verbs.find(store, "mnist")
    assert [entry["reason"] for entry in baseline.history] == ["a better kernel", "and back"]
    assert baseline.history[0]["replaced"]["metrics"]["loss"] == baseline.metrics["loss"]
    with pytest.raises(UsageError, match="why"):
        verbs.accept(store, "mnist", "  ", observed())


def test_other_environments_have_their_own_baseline_and_one_without_is_undecided(store: Store) -> None:
    two, eight, weak = (
        environment(),
        environment(intra_op_threads=8),
        environment(vector="sse4", intra_op_threads=8),
    )
    verbs.record(store, "mnist", "bitwise", observed(environment=two))
    verbs.record(store, "mnist", "bitwise", observed(OTHER, environment=eight))
    assert verbs.check(store, "mnist", observed(environment=two)).verdict == REPEATS
    assert verbs.check(store, "mnist", observed(OTHER, environment=eight)).verdict == REPEATS
    missing = verbs.check(store, "mnist", observed(environment=weak))
    assert missing.verdict == UNDECIDED and missing.exit_code == 2
    assert set(missing.baseline.other_keys) == {two.name, eight.name}
    assert missing.baseline.nearest == eight.name
    assert [each.code for each in missing.baseline.differences] == ["TW503"]
    assert "avx2 against sse4" in (missing.reason or "")
    assert missing.baseline.commands == ("twinrun baseline record train.py --name mnist",)


def test_without_any_baseline_the_check_is_undecided_and_says_how_to_record_one(store: Store) -> None:
    found = verbs.check(store, "new", observed())
    assert found.verdict == UNDECIDED
    assert found.baseline.commands == ("twinrun baseline record train.py --name new",)


def test_a_key_that_could_not_be_read_is_neither_recorded_nor_passed(store: Store) -> None:
    blind = environment(onednn="unread")
    with pytest.raises(UsageError, match="onednn could not be read"):
        verbs.record(store, "mnist", "bitwise", observed(environment=blind))


def _damage(store: LocalStore, how: str) -> Path:
    verbs.record(store, "mnist", "bitwise", observed())
    path = store.root / "mnist" / file_of(environment().key)
    text = path.read_text()
    damaged = {
        "cut": text[: len(text) // 2],
        "empty": "",
        "edited": text.replace('"contract": "bitwise"', '"contract": "band=loss:9"'),
        "binary": "\x00\xff" * 40,
    }
    path.write_text(damaged[how])
    return path


@pytest.mark.parametrize("how", ["cut", "empty", "edited", "binary"])
def test_a_damaged_baseline_is_named_and_never_a_pass(tmp_path: Path, how: str) -> None:
    store = LocalStore(tmp_path)
    path = _damage(store, how)
    with pytest.raises(BadBaseline, match=path.name):
        verbs.check(store, "mnist", observed())
    with pytest.raises(BadBaseline):
        verbs.record(store, "mnist", "bitwise", observed())
    (listed,) = verbs.listing(store)
    assert listed.problem is not None and path.name in listed.problem
    verbs.accept(store, "mnist", "the file was damaged", observed())
    assert verbs.check(store, "mnist", observed()).verdict == REPEATS
    (baseline,) = verbs.find(store, "mnist")
    assert "cannot be used" in baseline.history[0]["replaced"]["damaged"]


def test_a_file_that_was_moved_to_another_name_or_environment_is_not_believed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    verbs.record(store, "mnist", "bitwise", observed())
    file = file_of(environment().key)
    text = (tmp_path / "mnist" / file).read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / file).write_text(text)
    with pytest.raises(BadBaseline, match="is a baseline of 'mnist', not of 'other'"):
        verbs.check(store, "other", observed())
    eight = environment(intra_op_threads=8)
    (tmp_path / "mnist" / file_of(eight.key)).write_text(text)
    with pytest.raises(BadBaseline, match="another environment"):
        verbs.check(store, "mnist", observed(environment=eight))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CannotWrite, match="--store"):
            verbs.record(LocalStore(tmp_path / "in"), "mnist", "bitwise", observed())
    finally:
        tmp_path.chmod(0o700)


def test_a_store_that_cannot_be_written_is_named_and_can_still_be_checked(tmp_path: Path) -> None:
    """A file in the place of the folder stops every user, root too."""
    (tmp_path / "blocked").write_text("")
    with pytest.raises(CannotWrite, match="--store"):
        verbs.record(LocalStore(tmp_path / "blocked"), "mnist", "bitwise", observed())
    store = LocalStore(tmp_path / "store")
    verbs.record(store, "mnist", "bitwise", observed())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert verbs.check(store, "mnist", observed()).verdict == REPEATS
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before, "a check writes nothing"


def _accept(root: str, number: int, gate: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    for turn in range(3):
        verbs.accept(LocalStore(Path(root)), "mnist", f"writer {number}, turn {turn}", observed())


def _record(root: str, number: int, gate: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    made = frames()
    made[2] = with_digest(made[2], 0, number)
    try:
        verbs.record(LocalStore(Path(root)), "mnist", "bitwise", observed(made))
    except UsageError:
        raise SystemExit(3) from None


def _at_once(target: object, root: Path, writers: int = 6) -> list[int | None]:
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(writers)
    processes = [context.Process(target=target, args=(str(root), n, gate)) for n in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    assert _at_once(_accept, tmp_path) == [0] * 6
    (baseline,) = verbs.find(LocalStore(tmp_path), "mnist")
    said = [entry["reason"] for entry in baseline.history]
    assert sorted(said) == sorted(f"writer {n}, turn {t}" for n in range(6) for t in range(3))
    assert [
        path.name
        for path in (tmp_path / "mnist").iterdir()
        if "partial" in path.name or path.name.endswith("~")
    ] == []


def test_of_several_who_record_different_bits_at_once_one_is_kept_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    codes = _at_once(_record, tmp_path)
    assert sorted(code or 0 for code in codes) == [0, 3, 3, 3, 3, 3]
    assert len(verbs.find(LocalStore(tmp_path), "mnist")) == 1


def test_a_writer_that_died_does_not_stop_the_next(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    folder = tmp_path / "mnist"
    folder.mkdir()
    (folder / ".lock").write_text("")
    (folder / ".x.json.999999").write_text("half of a fi")
    verbs.record(store, "mnist", "bitwise", observed())
    assert verbs.check(store, "mnist", observed()).verdict == REPEATS
    assert len(store.files("mnist")) == 1


def test_the_default_place_is_beside_the_project_s_own_files(tmp_path: Path) -> None:
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    assert open_store(None, inner).location == str(tmp_path.resolve() / FOLDER)
    assert open_store("elsewhere").location == "elsewhere"


def test_an_address_is_shown_without_its_password() -> None:
    assert "hunter2" not in FsspecStore("memory://user:hunter2@host/path").location


def test_an_address_nobody_can_open_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        open_store("nosuchscheme://bucket/path")
