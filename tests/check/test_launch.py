"""A program runs under Twinrun as it does under plain python."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support import check, environment, outputs, python, twinrun, write

# Everything a program may ask about how it was started. It observes nothing, so a check of it is undecided, which
# does not matter here: what its twins print is what counts.
LOOK = """
import json, os, sys
if __name__ == "__main__":
    seen = {
        "argv": sys.argv, "name": __name__, "file": __file__, "package": __package__, "spec": str(__spec__ and __spec__.name),
        "path": sys.path, "cwd": os.getcwd(), "flags": str(sys.flags), "orig_argv": sys.orig_argv,
        "environment": dict(os.environ), "stdin": sys.stdin.read(), "excepthook": sys.excepthook is sys.__excepthook__,
        "frameworks": sorted({"numpy", "tensorflow", "keras", "tf_keras", "torch", "jax", "ml_dtypes"} & set(sys.modules)),
        "hash": os.environ.get("PYTHONHASHSEED"), "executable": sys.executable, "main": sys.modules["__main__"].__file__,
    }
    print(json.dumps(seen))
"""


def seen_by_twins(answer: Any) -> list[dict[str, Any]]:
    return [json.loads(text) for text in outputs(answer.document)]


@pytest.mark.parametrize("form", ["script", "relative", "folder", "module", "package", "zip"])
def test_a_program_sees_what_it_sees_under_plain_python(tmp_path: Path, form: str) -> None:
    (tmp_path / "place").mkdir()
    words: list[str]
    if form == "script":
        words = [str(write(tmp_path / "place", LOOK, "look.py"))]
    elif form == "relative":
        write(tmp_path / "place", LOOK, "look.py")
        words = ["place/look.py"]
    elif form == "folder":
        write(tmp_path / "place", LOOK, "__main__.py")
        words = ["place"]
    elif form == "module":
        write(tmp_path, LOOK, "look.py")
        words = ["-m", "look"]
    elif form == "package":
        write(tmp_path / "place", "", "__init__.py")
        write(tmp_path / "place", "from .other import value\nassert value == 5\n" + LOOK, "__main__.py")
        write(tmp_path / "place", "value = 5", "other.py")
        words = ["-m", "place"]
    else:
        import zipfile

        with zipfile.ZipFile(tmp_path / "look.zip", "w") as archive:
            archive.writestr("__main__.py", LOOK)
        words = ["look.zip"]
    words += ["--epochs", "2", "-m", "--pin", "", "a b", "--help"]
    plain = json.loads(python(*words, cwd=tmp_path, stdin="some\ntext", PYTHONPATH="/nowhere:/else").out)
    options = ["check", "--no-diagnose", "--output-format", "json"]
    answer = twinrun(*options, *words, cwd=tmp_path, stdin="some\ntext", env={"PYTHONPATH": "/nowhere:/else"})
    twins = seen_by_twins(answer)
    assert len(twins) == 2
    for twin in twins:
        assert (
            twin.pop("excepthook") is False
        )  # ours stands in front, to know a failed program from one that ended
        assert twin == {name: value for name, value in plain.items() if name != "excepthook"}
    assert plain["frameworks"] == [] and plain["stdin"] == "some\ntext"


def test_no_variable_of_ours_is_left_and_an_unset_path_stays_unset(tmp_path: Path) -> None:
    program = write(tmp_path, LOOK)
    kept = {"TWINRUN_HOME"}  # set by these tests, not by us
    for twin in seen_by_twins(check(program)):
        assert {name for name in twin["environment"] if "TWINRUN" in name} == kept
        assert "PYTHONPATH" not in twin["environment"]
        assert not any("twinrun" in entry and "inject" in entry for entry in twin["path"])


def test_stdin_reaches_every_twin_whole_and_only_as_far_as_it_is_read(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(200_000))
    program = write(tmp_path, "import sys, zlib\nprint(zlib.crc32(sys.stdin.buffer.read()))")
    printed = outputs(check(program, "--runs", "3", stdin=text).document)
    assert len(printed) == 3 and len(set(printed)) == 1
    assert printed[0] == python(program, stdin=text).out
    lazy = write(tmp_path, "print(input())", "lazy.py")
    assert outputs(check(lazy, stdin=text).document) == ["line 0\n", "line 0\n"]
    assert outputs(check(program, "--sequential", stdin=text).document) == printed[:2]


def test_relative_imports_and_a_module_in_a_package(tmp_path: Path) -> None:
    package = tmp_path / "project" / "models"
    package.mkdir(parents=True)
    write(package.parent, "", "__init__.py")
    write(package, "", "__init__.py")
    write(package, "from ..settings import rate\nprint(rate, __name__, __package__)", "train.py")
    write(package.parent, "rate = 0.5", "settings.py")
    options = ("check", "--no-diagnose", "--output-format", "json")
    answer = twinrun(*options, "-m", "project.models.train", cwd=tmp_path)
    assert outputs(answer.document) == ["0.5 __main__ project.models\n"] * 2


MULTIPROCESSING = """
import multiprocessing, sys
def square(x):
    import os
    assert "TWINRUN_SPEC" not in os.environ
    return x * x
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(5)))
    child = multiprocessing.Process(target=sys.exit, args=(3,))
    child.start()
    child.join()
    print(child.exitcode)
    import twinrun
    twinrun.probe("done", [1, 2])
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_processes_that_the_program_starts_are_its_own(tmp_path: Path, method: str) -> None:
    program = write(tmp_path, MULTIPROCESSING)
    answer = check(program, arguments=[method])
    assert answer.document["verdict"] == "repeats", answer.document
    assert outputs(answer.document) == ["[0, 1, 4, 9, 16]\n3\n"] * 2


def test_the_programs_own_sitecustomize_runs_once(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    count = "import builtins\nbuiltins.site_runs = getattr(builtins, 'site_runs', 0) + 1"
    write(tmp_path / "own", count, "sitecustomize.py")
    program = write(tmp_path, "import sys\nprint(site_runs, sys.modules['sitecustomize'].__file__)")
    path = str(tmp_path / "own")
    plain = python(program, PYTHONPATH=path).out
    assert plain.startswith("1 /")
    assert outputs(check(program, env={"PYTHONPATH": path}).document) == [plain] * 2


def test_without_a_sitecustomize_there_is_none(tmp_path: Path) -> None:
    program = write(tmp_path, "import importlib.util as u\nprint(u.find_spec('sitecustomize') is None)")
    assert outputs(check(program).document) == [python(program).out] * 2


def test_a_sitecustomize_that_fails_is_told_as_python_tells_it_and_the_program_is_watched(
    tmp_path: Path,
) -> None:
    (tmp_path / "own").mkdir()
    write(tmp_path / "own", "import no_such_thing", "sitecustomize.py")
    program = write(tmp_path, "import twinrun\ntwinrun.probe('x', [1])")
    answer = check(program, env={"PYTHONPATH": str(tmp_path / "own")})
    assert answer.document["verdict"] == "repeats"
    told = (Path(answer.document["recordings"][0]) / "stderr.txt").read_text()
    assert told == python(program, PYTHONPATH=str(tmp_path / "own")).err
    assert "Error in sitecustomize" in told


def test_the_working_directory_gains_no_file(tmp_path: Path) -> None:
    program = write(tmp_path, "import os, twinrun\ntwinrun.probe('files', sorted(os.listdir('.')))")
    assert check(program, cwd=tmp_path).document["verdict"] == "repeats"
    assert [entry.name for entry in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("code", ["0", "3", "255"])
def test_run_ends_with_the_programs_own_exit_code(tmp_path: Path, code: str) -> None:
    text = "import sys, twinrun\ntwinrun.probe('x', [1])\nprint('said')\nsys.exit(int(sys.argv[1]))"
    answer = twinrun("run", "--output-format", "json", write(tmp_path, text), code)
    assert answer.code == int(code)
    assert answer.document["exit_code"] == int(code)
    assert (Path(answer.document["recording"]) / "stdout.txt").read_text() == "said\n"


def test_run_ends_as_a_shell_would_say_it_after_a_signal(tmp_path: Path) -> None:
    program = write(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    answer = twinrun("run", program)
    assert answer.code == 128 + 11
    assert "signal 11" in answer.out


def test_a_program_that_leaves_by_os_exit_is_seen_to_its_end(tmp_path: Path) -> None:
    program = write(tmp_path, "import os, twinrun\ntwinrun.probe('x', [1])\nos._exit(0)")
    assert check(program).document["verdict"] == "repeats"


AGAIN = """
import os, sys
if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.EXEC
import twinrun
print(os.getpid() == int(os.environ.setdefault("PID", str(os.getpid()))), sys.argv[1:], os.environ.get("PYTHONPATH"))
twinrun.probe("order", [hash(word) for word in sys.argv])
"""


@pytest.mark.parametrize(
    "how", ["execv(sys.executable, [sys.executable, *sys.argv])", "execlp(sys.executable, sys.executable, *sys.argv)",
            "execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, 'PYTHONPATH': '/else'})"],
)  # fmt: skip
def test_a_program_that_starts_itself_anew_is_followed(tmp_path: Path, how: str) -> None:
    program = write(tmp_path, AGAIN.replace("EXEC", how))
    answer = check(program, arguments=["a", "b"])
    assert answer.document["verdict"] == "repeats", answer.document["reason"]
    assert outputs(answer.document) == [python(program, "a", "b").out] * 2


def test_a_program_that_turns_into_another_is_not_judged(tmp_path: Path) -> None:
    program = write(tmp_path, "import os\nos.execlp('true', 'true')")
    assert (check(program).code, twinrun("run", program).code) == (2, 2)


def test_the_interpreter_is_the_one_that_twinrun_runs_under(tmp_path: Path) -> None:
    assert {twin["executable"] for twin in seen_by_twins(check(write(tmp_path, LOOK)))} == {sys.executable}
    assert environment()["TF_CPP_MIN_LOG_LEVEL"] == "3"


def test_twins_share_a_gpu_where_there_is_one(tmp_path: Path) -> None:
    from twinrun.frameworks.tensorflow import shared_gpu

    (tmp_path / "nvidia0").touch()
    there, nowhere = (tmp_path / "nvidia0",), (tmp_path / "nothing",)
    growth = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    assert [shared_gpu(visible, there) for visible in (None, "0", "", "-1")] == [growth, growth, {}, {}]
    assert shared_gpu(None, nowhere) == {}
