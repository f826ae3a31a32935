"""A run that did not reach its end says so in its recording, whoever ended it, and nothing calls it equal beyond what it
holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pages import blocks, install
from support import COMMAND, check, environment, interrupt, start, twinrun, write
from twinrun.recording.folder import open_recording
from twinrun.recording.manifest import read_manifest

PAGE = blocks("add-a-framework.md")  # a framework that takes no time to import
PROGRAM = PAGE.pop("train.py").replace("import tinynet", "import tinynet; tinynet.seed(1)")
ENDLESS = PROGRAM + "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str | None]:
    return {"PYTHONPATH": str(install(PAGE, tmp_path))}


def begun(folder: Path, names: str) -> list[int]:
    """The processes of these twins, once each of them has trained."""
    deadline = time.monotonic() + 90
    outputs = [folder / name / "stdout.txt" for name in names]
    while time.monotonic() < deadline:
        said = [output.read_text().split() for output in outputs if output.is_file()]
        if len(said) == len(names) and all(said):
            return [int(words[-1]) for words in said]
        time.sleep(0.05)
    raise AssertionError("the twins did not train")


def cut(folder: Path, env: dict[str, str | None], how: str) -> None:
    command = start("check", "--dir", folder, folder.parent / "train.py", env=env)
    first, _ = begun(folder, "AB")
    if how == "a twin is killed":
        os.kill(first, signal.SIGKILL)
    else:
        command.send_signal(getattr(signal, how))
    command.communicate(timeout=60)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL", "a twin is killed"])
def test_what_a_broken_off_check_leaves_is_not_called_equal(tmp_path: Path, env: Any, how: str) -> None:
    write(tmp_path, ENDLESS)
    folder = tmp_path / "out"
    cut(folder, env, how)
    twins = [folder / name for name in "AB"]
    killed_too = how == "SIGKILL"  # the command itself could write nothing more
    assert {read_manifest(twin).status for twin in twins} == {"running" if killed_too else "cut-off"}
    answer = twinrun("diff", "--output-format", "json", *twins)
    found = answer.document
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "interrupted")
    assert found["steps_compared"] >= 4 and "nothing is known beyond" in found["reason"]
    refused = twinrun("baseline", "record", "--name", "x", "--store", tmp_path / "s", "--recording", twins[0])
    assert refused.code == 2 and "was cut off" in refused.message


# Hangs when it is run for the third time, which is the first experiment of a diagnosis.
HANGS = """
import itertools, pathlib, random, sys, threading, twinrun
for run in itertools.count(1):
    try:
        pathlib.Path(sys.argv[1], str(run)).touch(exist_ok=False)
        break
    except FileExistsError:
        pass
twinrun.probe("drawn", [random.random()])
if run in (3, 4):
    threading.Event().wait()
"""


def test_a_diagnosis_that_is_interrupted_leaves_the_verdict_and_can_go_on(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    runs = tmp_path / "runs"
    runs.mkdir()
    program, saved = write(tmp_path / "program", HANGS), tmp_path / "result.json"
    command = start(
        "check", "--output-format", "json", "--output-file", saved, "--dir", tmp_path / "out", program, runs
    )
    deadline = time.monotonic() + 90
    while not (runs / "4").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    command.send_signal(signal.SIGTERM)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 143 and "Traceback" not in err
    document = json.loads(saved.read_text())
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "interrupted")
    assert not document["diagnosis"]["complete"]
    assert any("the diagnosis was interrupted by SIGTERM; not tried" in note for note in document["notes"])
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == document
    went_on = twinrun("check", "--output-format", "json", "--resume-diagnosis", saved)
    assert went_on.code == 1
    assert [(f["code"], f["confirmed"]) for f in went_on.document["findings"]] == [("TW101", True)]


def test_the_verdict_is_printed_before_the_cause_is_looked_for_and_ctrl_c_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    runs = tmp_path / "runs"
    runs.mkdir()
    command = start("check", "--dir", tmp_path / "out", write(tmp_path / "program", HANGS), runs)
    assert command.stdout is not None
    first = command.stdout.readline()  # the twins of the first experiment wait for ever
    assert first.startswith("diverges at step 0, phase probe: drawn differs") and command.poll() is None
    deadline = time.monotonic() + 90
    while not (runs / "4").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    interrupt(command)
    rest, err = command.communicate(timeout=60)
    assert command.returncode == 130 and "Traceback" not in err
    assert "diverges" not in rest and "likely[TW101]" in rest
    assert "the diagnosis was interrupted by SIGINT; not tried" in rest


def test_a_terminal_that_hangs_up_ends_the_check_in_good_order(tmp_path: Path, env: Any) -> None:
    ours, theirs = os.openpty()
    folder, program = tmp_path / "out", write(tmp_path, ENDLESS)
    command = subprocess.Popen(
        [*COMMAND, "check", "--dir", folder, program],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**env),
        start_new_session=True,
    )
    os.close(theirs)
    begun(folder, "AB")
    os.close(ours)  # from now on it cannot be written to
    command.send_signal(signal.SIGHUP)
    assert command.wait(timeout=60) == 128 + signal.SIGHUP
    assert json.loads((folder / "result.json").read_text())["reason"] == "interrupted by SIGHUP after step 4"


def test_several_programs_leave_what_they_know(tmp_path: Path, env: Any) -> None:
    for name, text in (("a.py", PROGRAM), ("b.py", ENDLESS), ("c.py", PROGRAM)):
        write(tmp_path, text, name)
    tables = [f'[tool.twinrun.programs.{name}]\nprogram = "{name}.py"\n' for name in "abc"]
    write(tmp_path, "".join(tables), "pyproject.toml")
    command = start("check", "--no-diagnose", "--output-format", "json", cwd=tmp_path, env=env)
    assert command.stderr is not None
    while not command.stderr.readline().startswith("b: "):
        pass
    command.send_signal(signal.SIGTERM)
    out, _ = command.communicate(timeout=60)
    document = json.loads(out)
    assert command.returncode == 143 and document["verdict"] == "undecided"
    found = [(each["name"], each["verdict"], each["reason_kind"]) for each in document["programs"]]
    assert found == [("a", "repeats", None), ("b", "undecided", "interrupted")]


def test_a_timeout_and_a_difference_are_told_apart(tmp_path: Path, env: Any) -> None:
    write(tmp_path, ENDLESS)
    document = check(tmp_path / "train.py", "--timeout", "12s", env=env).document
    assert document["reason_kind"] == "timeout"
    assert {read_manifest(Path(twin)).status for twin in document["recordings"]} == {"cut-off"}
    write(tmp_path, PROGRAM.replace("seed(1)", "seed(__import__('os').getpid())"))
    document = check(tmp_path / "train.py", "--follow", "0", env=env).document
    assert document["verdict"] == "diverges"
    twins = [Path(twin) for twin in document["recordings"]]
    assert {read_manifest(twin).status for twin in twins} == {"held"}
    assert twinrun("diff", *twins).code == 1 and twinrun("diff", twins[0], twins[0]).code == 2


def test_a_program_that_leaves_abruptly_is_cut_off(tmp_path: Path, env: Any) -> None:
    leave = "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\nthreading.Event().wait()\n"
    program = write(tmp_path, PROGRAM + leave)
    answer = twinrun("run", "--output-format", "json", "--dir", tmp_path / "out", program, env=env)
    assert (answer.code, answer.document["reason_kind"]) == (2, "abrupt-exit")
    assert read_manifest(tmp_path / "out" / "A").status == "cut-off"


def test_a_recording_that_could_not_be_written_to_its_end_is_cut_off(tmp_path: Path, env: Any) -> None:
    """As on a full disk: from some step on no file can grow."""
    fill = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    fill += "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))\n"
    program = write(tmp_path, fill + PROGRAM.replace("range(5)", "range(5000)"))
    answer = twinrun("run", "--output-format", "json", "--dir", tmp_path / "out", program, env=env)
    assert (answer.code, answer.document["reason_kind"]) == (2, "cannot-write")
    folder = tmp_path / "out" / "A"
    manifest, reader = open_recording(folder)
    assert manifest.status == "cut-off" and 0 < reader.last_step() < 5000
