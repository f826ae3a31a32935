"""What a process sees and leaves in each kind of view. No twin is needed: a view is entered by any program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support import write
from twinrun.errors import CannotCopy
from twinrun.findings.finding import Finding
from twinrun.launch.interventions import Setup
from twinrun.launch.overlay_view import overlay_problem
from twinrun.launch.program import Program
from twinrun.launch.view_store import ViewStore
from twinrun.launch.views import Changes, Views
from twinrun.protocol.facts import DatasetsAudit, Facts

WAYS = ("overlay", "copy")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with some files."""
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "rows.csv").write_text("1,2\n")
    (folder / "old.txt").write_text("old")
    (folder / "same.txt").write_text("same")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ViewStore]:
    (tmp_path / "recordings").mkdir()
    with ViewStore(tmp_path / "recordings") as store:
        yield store


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "else, and: more"
    folder.mkdir()
    return folder


def views(store: ViewStore, how: str, program: Program, patched: Mapping[str, str] | None = None) -> Views:
    found = store.views(program, patched or {}, ways=(how, "shared"))  # type: ignore[arg-type]
    if how == "overlay" and found.how != "overlay":
        pytest.skip(f"no overlay here: {found.notes}")
    assert found.how == how
    return found


def run(made: Views, name: str, program: Program, before: str | None = None) -> str:
    started, _ = made.start(name, program, Setup(), before)
    done = subprocess.run(started.command(), cwd=started.cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def texts(changes: Changes) -> dict[str, str | None]:
    return {path: None if left is None else left.read_text() for path, left in changes.items()}


def state(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


WRITES = """
    import os, pathlib, shutil, sys
    os.close(os.open("lock", os.O_CREAT | os.O_EXCL))
    pathlib.Path("data/more/new.txt").parent.mkdir()
    pathlib.Path("data/more/new.txt").write_text("new")
    pathlib.Path("old.txt").unlink()
    pathlib.Path("same.txt").write_text("same")
    shutil.rmtree("runs", ignore_errors=True)
    pathlib.Path("__pycache__").mkdir()
    pathlib.Path("__pycache__/x.pyc").write_text("")
    with open(pathlib.Path.cwd() / "data" / "rows.csv", "a") as rows:
        rows.write("3,4")
    print(os.environ.get("PWD"), sys.argv)
    """


@pytest.mark.parametrize(("how", "user"), [("overlay", os.geteuid()), ("overlay", 1000), ("copy", 1000)])
def test_each_twin_has_its_own_files_and_the_users_stay_as_they_were(
    how: str, user: int, home: Path, store: ViewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "twinrun.launch.overlay_view.os.geteuid", lambda: user
    )  # by a user namespace, or without
    program = Program(str(write(home, WRITES)), ("a", "b c"))
    before = state(home)
    made = views(store, how, program)
    for name in ("A", "B"):
        run(made, name, program)
        left = {"data/more/new.txt": "new", "data/rows.csv": "1,2\n3,4", "lock": "", "old.txt": None}
        assert texts(made.changes(name)) == left
    assert state(home) == before


@pytest.mark.parametrize("how", WAYS)
def test_a_twin_may_start_from_what_another_left(how: str, home: Path, store: ViewStore) -> None:
    text = """
        import os, shutil
        print(sorted(os.listdir(".")), os.path.exists("data/rows.csv"))
        if os.path.exists("lock"):
            os.remove("lock")
            open("old.txt", "w").write("old")
        else:
            open("lock", "w").close()
            open("kept", "w").close()
            shutil.rmtree("data")
            os.mkdir("data")
            os.remove("old.txt")
        """
    program = Program(str(write(home, text)))
    made = views(store, how, program)
    run(made, "A", program)
    assert run(made, "B", program, "A") == "['data', 'kept', 'lock', 'same.txt', 'train.py'] False\n"
    assert texts(made.changes("A")) == {"data/rows.csv": None, "kept": "", "lock": "", "old.txt": None}
    assert texts(made.changes("B")) == {"data/rows.csv": None, "kept": ""}
    assert run(made, "C", program, "B").endswith("False\n")
    assert texts(made.changes("C")) == {"data/rows.csv": None, "kept": "", "lock": "", "old.txt": None}


@pytest.mark.parametrize("how", WAYS)
def test_a_program_elsewhere_has_a_view_of_its_own_folder_too(
    how: str, home: Path, elsewhere: Path, store: ViewStore
) -> None:
    text = "import pathlib\npathlib.Path('here').touch()\npathlib.Path(__file__).with_name('there').touch()"
    program = Program(os.path.relpath(write(elsewhere, text), home))
    made = views(store, how, program)
    run(made, "A", program)
    assert sorted(made.changes("A")) == [str(elsewhere / "there"), str(home / "here")]
    assert sorted(state(elsewhere)) == ["train.py"]


@pytest.mark.parametrize("how", WAYS)
def test_patched_text_is_what_a_program_and_its_modules_are_run_from(
    how: str, home: Path, elsewhere: Path, store: ViewStore
) -> None:
    far = write(elsewhere, "VALUE = 1", "far.py")
    near = write(home / "data", "VALUE = 1", "near.py")
    script = write(home, f"import sys\nsys.path += ['data', {str(elsewhere)!r}]\nimport far, near\nprint(0)")
    program = Program(str(script))
    end = "print(far.VALUE, near.VALUE, __file__)"
    patched = {
        str(script): script.read_text().replace("print(0)", end),
        str(near): "VALUE = 2",
    }
    if how == "overlay":
        patched[str(far)] = "VALUE = 3"
    else:
        with pytest.raises(CannotCopy, match="far.py lies elsewhere"):
            store.views(program, {str(far): "VALUE = 3"}, ways=("copy", "shared"))
    made = views(store, how, program, patched)
    words = run(made, "A", program).split()
    assert words[:2] == (["3", "2"] if how == "overlay" else ["1", "2"])
    assert made.changes("A") == {}
    assert near.read_text() == far.read_text() == "VALUE = 1"
    assert not list(elsewhere.rglob("*.pyc")) or how == "copy"


def test_paths_and_process_stay_the_same_in_an_overlay(home: Path, store: ViewStore) -> None:
    text = """
        import json, os, signal, sys
        ids = os.getpid(), os.getuid(), os.geteuid(), os.getgid(), os.getsid(0)
        ignored = signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
        print(json.dumps([os.getcwd(), __file__, sys.argv, sys.flags.isolated, sys.path[0], ids[1:], ignored]))
        """
    program = Program("train.py", ("x",))
    write(home, text)
    plain = subprocess.run(program.command(), capture_output=True, text=True, check=True).stdout
    assert run(views(store, "overlay", program), "A", program) == plain


def test_recordings_below_the_folder_are_the_real_ones(home: Path) -> None:
    recordings = home / "recordings"
    recordings.mkdir()
    program = Program(str(write(home, "open('recordings/frame', 'w').write('x')")))
    with ViewStore(recordings) as store:
        made = views(store, "overlay", program)
        run(made, "A", program)
        assert made.changes("A") == {}
        assert not made.place.is_relative_to(home)
        assert made.holds(str(home / "x")) and not made.holds(str(recordings / "frame"))
    assert not made.place.exists()
    assert state(recordings) == {"frame": "x"}


def test_a_view_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    (tmp_path / "recordings").mkdir()
    text = "import os\nos.makedirs('deep/er')\nopen('deep/er/x', 'w').close()\nos.chmod('deep', 0)"
    program = Program(str(write(home, text)))
    for how in WAYS:
        with ViewStore(tmp_path / "recordings") as store:
            run(views(store, how, program), "A", program)
        assert list((tmp_path / "recordings").iterdir()) == []
    assert str(home) not in Path("/proc/self/mounts").read_text()


def test_a_folder_that_is_too_large_or_not_the_programs_own_is_shared_and_that_is_said(
    home: Path, store: ViewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWINRUN_VIEWS", "copy")
    monkeypatch.setattr("twinrun.launch.copy_view._MOST_FILES", 2)
    program = Program(str(write(home, "print(1)")))
    found = store.views(program, {})
    assert (found.how, found.changes("A")) == ("shared", {})
    assert found.notes == (f"the twins shared {home} ({home} is too large to copy)",)
    with pytest.raises(CannotCopy, match="too large to copy"):
        store.views(program, {str(home / "train.py"): "print(2)"})
    with pytest.raises(CannotCopy, match="too large to copy"):
        store.views(program, {}, frozen=[])
    monkeypatch.chdir("/")
    assert "/ is not the program's own folder" in store.views(Program("json.tool", module=True), {}).notes[0]
    monkeypatch.delenv("TWINRUN_VIEWS")
    assert store.views(Program("json.tool", module=True), {}).how == "shared"


def test_where_the_kernel_allows_no_overlay_the_next_way_is_taken(home: Path, store: ViewStore) -> None:
    program = Program(str(write(home, "print(1)")))
    below = home / "below"
    below.mkdir()
    assert overlay_problem((home,), below) == f"{below} lies below it"
    if Path("/proc/sys").is_dir():  # a file system that holds no upper layer
        assert overlay_problem((home,), Path("/proc/sys")) is not None
    made = store.views(program, {}, ways=("copy", "shared"))
    assert made.how == "copy" and "ran in a copy" in made.notes[0]


def test_large_folders_that_a_program_does_not_write_are_not_copied_but_there(
    home: Path, store: ViewStore
) -> None:
    (home / "data" / ".git").mkdir()
    (home / "data" / ".git" / "HEAD").write_text("main")
    program = Program(str(write(home, "print(open('data/.git/HEAD').read())")))
    made = views(store, "copy", program)
    assert run(made, "A", program) == "main\n"
    assert made.changes("A") == {}


def test_a_frozen_file_that_lies_elsewhere_is_in_the_view_too(
    home: Path, tmp_path: Path, store: ViewStore
) -> None:
    (tmp_path / "else").mkdir()
    state = tmp_path / "else" / "state"
    state.write_text("1")
    program = Program(str(write(home, f"open({str(state)!r}, 'a').write('2')")))
    if views(store, "overlay", program).how == "overlay":
        made = store.views(program, {}, frozen=[str(state)])
        run(made, "A", program)
        assert texts(made.changes("A")) == {str(state): "12"}
        assert state.read_text() == "1"
    with pytest.raises(CannotCopy, match="state lies elsewhere"):
        store.views(program, {}, ways=("copy", "shared"), frozen=[str(state)])


def test_in_the_home_folder_itself_caches_and_settings_stay_shared(
    home: Path, store: ViewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    (home / ".cache").mkdir()
    text = "import pathlib\nfor name in ('mine', '.cache/downloaded'):\n    pathlib.Path(name).touch()"
    program = Program(str(write(home, text)))
    made = views(store, "overlay", program)
    run(made, "A", program)
    assert list(made.changes("A")) == ["mine"]
    assert (home / ".cache" / "downloaded").exists() and not (home / "mine").exists()


def test_what_is_found_in_the_datasets_of_a_copy_names_the_users_own_file(
    home: Path, store: ViewStore
) -> None:
    program = Program(str(write(home, "print()")))
    made = views(store, "copy", program)
    inside, _ = made.start("A", program, Setup())
    audit = DatasetsAudit((Finding("TW201", "name", "message", inside.target, 1),))
    found = made.as_original("A", Facts(datasets=audit)).datasets
    assert inside.target != str(home / "train.py")
    assert found is not None and found.findings[0].file == str(home / "train.py")
