"""What a program delivers is judged beside what is watched: a false `repeats` is as wrong as a false alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import twinrun

TRAINS = """
import numpy as np, twinrun
for step in range(1, 4):
    twinrun.probe("w", np.ones(2) * step)
"""


def checked(folder: Path, program: str, *words: str) -> tuple[int, dict[str, Any]]:
    (folder / "train.py").write_text(program)
    answer = twinrun("check", "--no-diagnose", "--output-format", "json", *words, "train.py", cwd=folder)
    return answer.code, answer.document


def test_output_that_shows_the_run_is_no_difference(tmp_path: Path) -> None:
    program = (
        TRAINS
        + """
import json, os, tempfile, time, uuid
began = time.perf_counter()
print("run", uuid.uuid4().hex[:8], "process", os.getpid(), "at", object())
print(time.strftime("%Y-%m-%d %H:%M:%S"), "scratch", tempfile.mkdtemp())
sum(range(10**6))
print(f"{time.perf_counter() - began:.4f}")
print(f"{1000 / (time.perf_counter() - began):.1f} samples/s, loss 0.25")
with open("history.json", "w") as file:
    json.dump({"loss": 0.25, "seconds": time.perf_counter() - began}, file, indent=1)
np.savez("weights.npz", w=np.ones(2))
with open(time.strftime("log-%Y%m%d-%H%M%S.txt"), "w") as file:
    file.write(f"{time.time()} saved\\n")
"""
    )
    code, document = checked(tmp_path, program)
    assert code == 0, document["reason"]
    delivered = document["delivered"]
    assert (delivered["output"], delivered["files"], delivered["differences"]) == ("equal", 3, [])
    assert delivered["only_shows"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]  # the user's folder is as it was


def test_numbers_of_processes_are_known_that_the_program_has_ended(tmp_path: Path) -> None:
    program = (
        TRAINS
        + """
import os, signal, subprocess
started = subprocess.Popen(["sleep", "60"])
forked = os.fork()
if not forked:
    signal.pause()
print("processes", [started.pid, forked])
for number in (started.pid, forked):
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
"""
    )
    code, document = checked(tmp_path, program)
    assert (code, document["delivered"]["output"]) == (0, "equal"), document["reason"]


def test_a_result_that_is_not_watched_leaves_the_check_undecided(tmp_path: Path) -> None:
    program = (
        TRAINS
        + """
features = np.random.rand(8)
print("threshold", features.mean())
np.save("features.npy", features)
"""
    )
    code, document = checked(tmp_path, program)
    assert (code, document["reason_kind"]) == (2, "unwatched-output")
    assert "standard output, line 1" in document["reason"] and "threshold" in document["reason"]
    places = [one["place"] for one in document["delivered"]["differences"]]
    assert places == ["standard output, line 1", "features.npy"]
    assert any("train.py:6" in note for note in document["notes"])  # the line that drew


def test_a_result_seeded_with_the_time_is_still_a_result(tmp_path: Path) -> None:
    program = (
        TRAINS
        + """
import time
sample = np.random.default_rng(time.time_ns() % 2**32).normal(size=9)
print("score", sample.mean())
"""
    )
    code, document = checked(tmp_path, program)
    assert (code, document["reason_kind"]) == (2, "unwatched-output")


def test_output_may_be_ignored_for_a_reason(tmp_path: Path) -> None:
    program = (
        TRAINS
        + 'import random\nprint("name:", random.choice("abcdefghijklmnopqrstuvwxyz") * 3, random.random())\n'
    )
    code, document = checked(tmp_path, program, "--ignore-output", "^name: # drawn anew in every run")
    assert code == 0 and document["delivered"]["ignored"] == ["standard output, line 1"]
    answer = twinrun("check", "--ignore-output", "^name:", "train.py", cwd=tmp_path)
    assert answer.code == 2 and "needs a reason" in answer.message


def test_a_program_that_trains_nothing_is_judged_by_its_output_when_asked(tmp_path: Path) -> None:
    equal = "import numpy as np\nprint(np.random.default_rng(0).normal(size=3))\n"
    code, document = checked(tmp_path, equal)
    assert (code, document["reason_kind"]) == (2, "no-step")
    assert "output equal" in document["reason"] and "--contract output" in document["reason"]
    code, document = checked(tmp_path, equal, "--contract", "output")
    assert code == 0 and document["verdict"] == "repeats"
    different = "import numpy as np\nprint(np.random.default_rng().normal(size=3))\n"
    code, document = checked(tmp_path, different)
    assert (code, document["reason_kind"]) == (2, "no-step") and "line 1 differs" in document["reason"]
    code, document = checked(tmp_path, different, "--contract", "output")
    assert (code, document["verdict"], document["reason_kind"]) == (1, "diverges", "different-output")


def test_steps_are_nothing_to_the_contract_of_output(tmp_path: Path) -> None:
    program = "import random, twinrun\nfor step in range(random.randint(3, 9)):\n    twinrun.probe('w', random.random())\n"
    code, document = checked(tmp_path, program + "print('done')\n", "--contract", "output")
    assert code == 0, document["reason"]


# Which of two goes first alternates from process to process, as if they raced and each twin saw another winner.
RACES = (
    TRAINS
    + """
import itertools, os, subprocess, sys, threading
def order():
    for number in itertools.count():
        try:
            os.close(os.open(f"{os.environ['TWINRUN_HOME']}/{sys.argv[1]}-{number}", os.O_CREAT | os.O_EXCL))
            return (0, 1) if number % 2 else (1, 0)
        except FileExistsError:
            pass
"""
)


def raced(folder: Path, program: str) -> tuple[str | None, dict[str, Any]]:
    (folder / "train.py").write_text(RACES + program)
    words = ("check", "--no-diagnose", "--output-format", "json", "train.py", folder.name)
    document = twinrun(*words, cwd=folder).document
    return document["reason_kind"], document["delivered"]


def test_threads_that_print_in_another_order_are_no_difference(tmp_path: Path) -> None:
    program = """
def work(name):
    for line in range(3):
        print("thread", name, "line", line)
threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
print("start")
for number in order():
    threads[number].start()
    threads[number].join()
print("end")
"""
    kind, delivered = raced(tmp_path, program)
    assert (kind, delivered["output"], delivered["reordered"]) == (None, "equal", True)


CHILD = "import sys; sys.stdin.readline(); [print('child', sys.argv[1], 'line', line) for line in range(3)]"


def test_processes_that_print_in_another_order_are_no_difference(tmp_path: Path) -> None:
    program = f"""
def start(name):
    return subprocess.Popen([sys.executable, "-c", {CHILD!r}, name], stdin=subprocess.PIPE)
children = [start(name) for name in "ab"]
for number in order():
    children[number].communicate()
"""
    kind, delivered = raced(tmp_path, program)
    assert (kind, delivered["output"], delivered["reordered"]) == (None, "equal", True)
    # Nobody knows who printed what where a process is not one of Python's.
    shell = program.replace("[sys.executable", '["sh"').replace(repr(CHILD), "'read x; echo child $0'")
    kind, delivered = raced(tmp_path, shell)
    assert (kind, delivered["reordered"]) == ("unwatched-output", False)


def test_what_a_thread_itself_prints_in_another_order_is_a_difference(tmp_path: Path) -> None:
    done = """
done = []
threads = [threading.Thread(target=done.append, args=(name,)) for name in "ab"]
for number in order():
    threads[number].start()
    threads[number].join()
"""
    beside = "threading.Thread(target=print, args=('beside',)).start()\n"
    kind, delivered = raced(tmp_path, beside + done + "print(*done, sep='\\n')")
    assert (kind, delivered["output"]) == ("unwatched-output", "different")
