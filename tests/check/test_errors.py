"""What cannot be judged: exit 2, one clear message, and never a traceback of ours."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import BY_HAND, COMMAND, FIRST, PLAIN, Answer, check, environment, python, twinrun, write
from twinrun.cli import VERBS
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import FILE, Manifest
from twinrun.recording.store import Writer

pytestmark = pytest.mark.usefixtures("tinynet")

PROBE = "import twinrun\ntwinrun.probe('x', [1, 2])\n"


def undecided(answer: Answer, kind: str = "crashed") -> str:
    """The reason of a check that could not judge, of this kind."""
    assert answer.code == 2, answer.out + answer.err
    assert answer.document["verdict"] == "undecided"
    assert answer.document["first_difference"] is None
    assert answer.err == ""
    assert answer.document["reason_kind"] == kind
    reason: str = answer.document["reason"]
    assert reason and "\n" not in reason
    return reason


def refused(answer: Answer) -> str:
    """The message of a command that did not even start."""
    assert answer.code == 2 and answer.out == "", answer.out + answer.err
    lines = answer.message.strip().splitlines()
    assert lines[0].startswith("error: ") and len(lines) <= 4
    return answer.err


# the program


def test_no_such_file_names_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "", "train.py")
    message = refused(twinrun("check", tmp_path / "trian.py"))
    assert "no such program" in message and "trian.py" in message and "train.py" in message


def test_a_folder_without_a_main_file(tmp_path: Path) -> None:
    assert "is not a file" in refused(twinrun("check", tmp_path))


def test_no_such_module(tmp_path: Path) -> None:
    assert "no module named no_such_module" in refused(
        twinrun("check", "-m", "no_such_module.train", cwd=tmp_path)
    )


def test_no_such_module_inside_a_package_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", "", "__init__.py")
    words = ("check", "--no-diagnose", "--output-format", "json", "-m", "package.missing")
    answer = twinrun(*words, cwd=tmp_path)
    assert undecided(answer) == "the program ended with exit code 1"
    assert "No module named package.missing" in answer.document["output_tail"]


def test_no_program_at_all() -> None:
    assert "which program" in refused(twinrun("check"))
    assert "the name of the program is empty" in refused(twinrun("check", ""))


def test_an_option_without_its_value_is_refused_with_the_help_of_its_verb() -> None:
    for words in (("check", "-m"), ("run", "-m"), ("audit", "-m"), ("check", "-m", "--")):
        assert refused(twinrun(*words)) == (
            f"error: option -m requires an argument\nhint: see `twinrun {words[0]} --help`\n"
        )


def test_a_syntax_error_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    answer = check(write(tmp_path, "x = (1,\n"))
    assert undecided(answer) == "the program ended with exit code 1"
    assert "SyntaxError" in answer.document["output_tail"] and "train.py" in answer.document["output_tail"]


def test_the_last_lines_of_output_are_shown_to_a_reader_too(tmp_path: Path) -> None:
    answer = twinrun("check", "--no-diagnose", write(tmp_path, "raise RuntimeError('too bad')"))
    assert answer.code == 2 and answer.err == ""
    assert answer.out.splitlines()[0] == "undecided: the program ended with exit code 1"
    assert "last lines of output:" in answer.out and "RuntimeError: too bad" in answer.out


RAISES = (
    FIRST
    + PLAIN
    + """
def each(step):
    if step == 5 and (sys.argv[1] == "both" or first()):
        raise ValueError("broke down")
train(8, each)
"""
)


@pytest.mark.parametrize("where", ["both", "one"])
def test_a_program_that_raises_at_step_5(tmp_path: Path, where: str) -> None:
    answer = check(write(tmp_path, RAISES), arguments=[where, tmp_path / "marker"])
    reason = undecided(answer)
    who = "the program" if where == "both" else "alone"
    assert who in reason and "exit code 1" in reason and "after step 4" in reason
    assert "ValueError: broke down" in answer.document["output_tail"]
    assert answer.document["steps_compared"] == 4


def test_a_program_that_ends_with_another_exit_code(tmp_path: Path) -> None:
    assert (
        undecided(check(write(tmp_path, PROBE + "raise SystemExit(3)")))
        == "the program ended with exit code 3"
    )


def test_a_program_that_ends_before_its_first_step(tmp_path: Path) -> None:
    """What reads its weights then may import nothing that starts threads."""
    program = write(tmp_path, "import tinynet\nraise SystemExit(3)")
    assert undecided(check(program)) == "the program ended with exit code 3"


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert undecided(check(program)) == "the program was ended by signal 9 (SIGKILL)"


def test_one_twin_that_fails_is_named(tmp_path: Path) -> None:
    program = write(tmp_path, FIRST + PROBE + "if first():\n    sys.exit(7)")
    reason = undecided(check(program, arguments=[tmp_path / "marker"]))
    assert reason in ("twin A alone ended with exit code 7", "twin B alone ended with exit code 7")


@pytest.mark.parametrize("options", [(), ("--sequential",)])
def test_a_program_that_hangs(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = write(tmp_path, PROBE + "import time\nprint('still here', flush=True)\ntime.sleep(600)")
    for seconds in (5, 20, 60):  # on a busy machine it may not have begun after five
        started = time.monotonic()
        answer = check(program, "--timeout", f"{seconds}s", *options)
        assert f"no answer within {seconds} s" in undecided(answer, "timeout")
        assert time.monotonic() - started < 120 + seconds
        if answer.document["output_tail"]:
            break
    assert answer.document["output_tail"] == "still here"


def test_a_program_that_trains_nothing_and_shows_nothing(tmp_path: Path) -> None:
    assert "no training step was observed" in undecided(check(write(tmp_path, "print('hello')")), "no-step")


def test_a_program_that_vanishes_leaves_its_end_unknown(tmp_path: Path) -> None:
    """Out of Python, past every exit handler: what it did last cannot be known."""
    vanish = "import ctypes\nctypes.CDLL(None)._exit(0)"
    assert "exited abruptly" in undecided(check(write(tmp_path, vanish)), "abrupt-exit")


# Twinrun itself

BROKEN = """
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from twinrun.cli import group, main
def broken(*_): raise {error}
group.TopVerbs.get_command = broken
main()
"""


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_fault_of_our_own_is_no_divergence(verb: str) -> None:
    answer = python("-c", BROKEN.format(error="LookupError('oops')"), verb, "x.py")
    assert (answer.code, answer.out) == (2, "")
    assert "Traceback" in answer.err and "LookupError: oops" in answer.err and "bug in Twinrun" in answer.err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        ("EOFError('oops')", 2, "bug in Twinrun"),
        ("BrokenPipeError(32, 'oops')", 2, ""),
        ("KeyboardInterrupt", 130, ""),
    ],
)
def test_what_click_would_end_with_1(error: str, code: int, says: str) -> None:
    answer = python("-c", BROKEN.format(error=error), "check", "x.py")
    assert answer.code == code and says in answer.err


# twins that stop at different steps

STOPS = FIRST + PLAIN + "train(6 if first() else 4)\n"
IN_TENSORFLOW = STOPS.replace(PLAIN, BY_HAND)


@pytest.mark.parametrize(
    ("program", "options"),
    [(IN_TENSORFLOW, ()), (STOPS, ()), (STOPS, ("--sequential",)), (STOPS, ("--runs", "3"))],
    ids=["in TensorFlow", "side by side", "in turn", "three"],
)
def test_twins_that_stop_at_different_steps_diverge(
    tmp_path: Path, program: str, options: tuple[str, ...]
) -> None:
    answer = check(write(tmp_path, program), *options, arguments=[tmp_path / "marker"])
    found = answer.document
    assert (answer.code, found["verdict"], found["steps_compared"]) == (1, "diverges", 4)
    assert found["reason_kind"] == "uneven"
    assert "ended after step 4" in found["reason"] and "went on" in found["reason"]
    longer = found["first_difference"]["only_in"]
    assert f"twin {longer} went on" in found["reason"] and found["first_difference"]["step"] == 5


@pytest.mark.parametrize("which", ["first()", "not first()"])
@pytest.mark.parametrize("options", [(), ("--sequential",)], ids=["side by side", "in turn"])
def test_a_twin_that_vanishes_is_not_said_to_have_ended_before_the_other(
    tmp_path: Path, options: tuple[str, ...], which: str
) -> None:
    """Nobody knows what it did after the last step that was seen."""
    vanish = f"train(4)\nimport ctypes\nif {which}: ctypes.CDLL(None)._exit(0)\ntrain(2)\n"
    answer = check(write(tmp_path, FIRST + PLAIN + vanish), *options, arguments=[tmp_path / "marker"])
    undecided(answer, "abrupt-exit")
    assert answer.document["steps_compared"] == 3  # the fourth was not closed yet


# recordings


def record(folder: Path) -> Path:
    folder.mkdir()
    writer = Writer(folder)
    for step in range(300):
        writer.write(Frame(step, 1, Layout(("weights",), ("w",)), pack([step])))
    Manifest("train.py", status="ended", exit_code=0, seal=writer.close()).write(folder)
    return folder


def cut(folder: Path) -> None:
    file = folder / "steps.sqlite"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def cut_manifest(folder: Path) -> None:
    file = folder / FILE
    file.write_bytes(file.read_bytes()[:40])


def from_the_future(folder: Path) -> None:
    document = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(document | {"schema": 99}))


def no_manifest(folder: Path) -> None:
    (folder / FILE).unlink()


def no_steps(folder: Path) -> None:
    (folder / "steps.sqlite").unlink()


def no_database(folder: Path) -> None:
    (folder / "steps.sqlite").write_bytes(b"this is no database at all\n" * 50)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (cut, "damaged"),
        (cut_manifest, "cannot be read"),
        (from_the_future, "newer Twinrun"),
        (no_manifest, "not a recording"),
        (no_steps, "not a recording"),
        (no_database, "damaged"),
    ],
)
def test_a_recording_that_cannot_be_read(tmp_path: Path, spoil: Callable[[Path], None], says: str) -> None:
    good, bad = record(tmp_path / "good"), record(tmp_path / "bad")
    assert twinrun("diff", good, bad).code == 0
    spoil(bad)
    for pair in ((good, bad), (bad, good)):
        message = refused(twinrun("diff", *pair))
        assert says in message and "bad" in message


def test_what_is_no_recording_at_all(tmp_path: Path) -> None:
    good = record(tmp_path / "good")
    assert "not a recording" in refused(twinrun("diff", good, tmp_path / "nowhere"))
    assert "bad.txt" in refused(twinrun("diff", good, write(tmp_path, "x", "bad.txt")))


# room and permission


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    program, file = write(tmp_path, PROBE), write(tmp_path, "x", "file")
    for place in (file / "below", Path("/proc/nowhere"), Path("/sys/nowhere"), file):
        message = refused(twinrun("check", "--dir", place, program))
        assert str(place) in message and "hint:" in message
    assert "cannot write" in refused(twinrun("run", "--dir", file / "below", program))
    assert "TWINRUN_HOME" in refused(twinrun("check", program, env={"TWINRUN_HOME": str(file / "below")}))


def test_a_place_that_is_taken(tmp_path: Path) -> None:
    program = write(tmp_path, PROBE)
    assert "not empty" in refused(twinrun("check", "--dir", tmp_path, program))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "ermission" in refused(
        twinrun("check", "--dir", tmp_path / "closed" / "x", write(tmp_path, PROBE))
    )


def limited(size: int, *words: str | Path) -> Answer:
    """With a limit on the size of files, which a process meets in the same calls as a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True, text=True, env=environment(PYTHONDONTWRITEBYTECODE="1"), preexec_fn=limit, stdin=subprocess.DEVNULL,
        timeout=120, check=False,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_disk_that_fills_up_while_the_program_trains(tmp_path: Path) -> None:
    program = write(tmp_path, PLAIN + "train(200)")
    answer = limited(150_000, "check", "--no-diagnose", "--output-format", "json", program)
    reason = undecided(answer, "cannot-write")
    assert reason.startswith("cannot write /") and "steps.sqlite: " in reason
    assert answer.document["output_tail"] is None


@pytest.mark.parametrize("size", [0, 100, 3000])
def test_a_disk_that_is_full_from_the_start(tmp_path: Path, size: int) -> None:
    answer = limited(size, "check", "--no-diagnose", "--dir", tmp_path / "out", write(tmp_path, PROBE))
    assert answer.code == 2
    told = answer.message + answer.out
    assert "cannot" in told and str(tmp_path / "out") in told
    assert len(told.strip().splitlines()) <= 4


def test_a_disk_that_fills_up_with_values(tmp_path: Path) -> None:
    """Keeping the tensors themselves takes room as well, and the program must not notice when it ends."""
    program = write(
        tmp_path, "import numpy as np, twinrun\ntwinrun.probe('x', np.zeros(100_000))\nprint('went on')"
    )
    answer = limited(300_000, "run", "--keep-values", "--output-format", "json", program)
    assert (answer.code, answer.document["reason_kind"]) == (2, "cannot-write")
    assert re.fullmatch(
        r"cannot write /\S+/values/00000000.safetensors: File too large", answer.document["reason"]
    )
    assert (Path(answer.document["recording"]) / "stdout.txt").read_text() == "went on\n"


@contextmanager
def small_disk(place: Path, pages: int) -> Iterator[Path]:
    disk = place / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", str(disk)]
    if (
        shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("only who may mount can have a disk as small as this")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def no_room(answer: Answer, disk: Path) -> None:
    """One line with the path, and nothing of the program."""
    told = answer.message + answer.out
    assert answer.code == 2
    assert re.search(
        rf"cannot write (to )?{disk}\S*.*: (No space left|database or disk is full|disk I/O)", told
    ), told
    assert len(told.strip().splitlines()) <= 4 and "last lines of output" not in told


@pytest.mark.parametrize("pages", [1, 2, 4, 8, 12, 16, 24])
def test_a_disk_that_is_really_full(tmp_path: Path, pages: int) -> None:
    """Wherever the room ends: at the first file, at the recording, at the manifest of its end."""
    with small_disk(tmp_path, pages) as disk:
        no_room(twinrun("check", "--no-diagnose", "--dir", disk / "out", write(tmp_path, PROBE)), disk)


FILLS = {
    "what it prints": "print('x' * 1_000_000)",
    "the files that it writes": "open('weights', 'wb').write(bytes(1_000_000))",
}


@pytest.mark.parametrize("what", FILLS)
def test_a_disk_that_a_program_fills_is_no_failure_of_the_program(tmp_path: Path, what: str) -> None:
    """What it writes goes to our disk, and not to its own."""
    work = tmp_path / "work"
    work.mkdir()
    with small_disk(tmp_path, 100) as disk:
        program = write(work, f"{PROBE}\n{FILLS[what]}\n")
        no_room(twinrun("check", "--no-diagnose", "--dir", disk / "out", program, cwd=work), disk)


def test_a_disk_without_room_for_copies_of_the_programs_files(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "data").write_bytes(bytes(1_000_000))
    with small_disk(tmp_path, 100) as disk:
        copies: dict[str, str | None] = {"TWINRUN_VIEWS": "copy"}
        words = ("check", "--no-diagnose", "--dir", disk / "out", write(work, PROBE))
        no_room(twinrun(*words, cwd=work, env=copies), disk)


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    message = twinrun("check", "--no-diagnose", "--output-file", "/proc/nowhere/x", write(tmp_path, PROBE))
    assert message.code == 2 and "cannot write /proc/nowhere/x" in message.message


# options


@pytest.mark.parametrize(
    "words",
    [
        ("--contract", "nearly"),
        ("--contract", "ulp=-1"),
        ("--contract", "band=loss"),
        ("--vary", "moon"),
        ("--vary", "hashseed,moon"),
        ("--timeout", "soon"),
        ("--timeout", "0"),
        ("--timeout", "-5"),
        ("--runs", "1"),
        ("--runs", "many"),
        ("--steps", "0"),
        ("--pin=device=moon",),
        ("--freeze", "moon"),
        ("--output-format", "smoke"),
        ("--no-such-option",),
    ],
)
def test_an_invalid_option(tmp_path: Path, words: tuple[str, ...]) -> None:
    marker = tmp_path / "ran"
    program = write(tmp_path, f"open({str(marker)!r}, 'w')")
    message = refused(twinrun("check", *words, program))
    assert re.search(r"contract|ulp|band|moon|timeout|runs|steps|format|no-such-option", message)
    assert not marker.exists()


def test_a_project_file_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "[tool.twinrun\n", "pyproject.toml")
    assert "pyproject.toml" in refused(twinrun("check", write(tmp_path, PROBE), cwd=tmp_path))


def test_help_of_a_broken_installation_is_not_needed() -> None:
    assert (
        subprocess.run(
            [sys.executable, "-m", "twinrun", "nonsense"], capture_output=True, check=False
        ).returncode
        == 2
    )
