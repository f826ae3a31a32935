"""`twinrun resume` as its users run it, in real processes, on programs of a framework that starts fast: the one of
docs/how-to/add-a-framework.md. What TensorFlow and Keras leave out is in test_checkpoint_styles.py."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from support import Answer, interrupt, start, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

# Saves after every fourth step, and goes on from there.
PROGRAM = """
import json, os, pathlib, signal, sys, time
import numpy as np
import tinynet

tinynet.seed(1)
file = pathlib.Path("saved.json")
model = tinynet.Line(3)
first = 0
if file.exists():
    saved = json.loads(file.read_text())
    model.weight, first = np.array(saved["weight"]), saved["step"]

def save(step):
    partial = pathlib.Path("saved.partial")
    partial.write_text(json.dumps({"weight": model.weight.tolist(), "step": step}))
    os.replace(partial, file)

for step in range(first, 12):
    x = np.linspace(0, 1, 12).reshape(4, 3) * (step + 1)
    model.train_step(x / 12, np.ones(4))
    if (step + 1) % 4 == 0:
        save(step + 1)
"""


FAILS = (
    "started again on what the stopped run left, the program fails before its first step, "
    "which it does not when it starts from nothing"
)


def resume(folder: Path, text: str, *options: str) -> Answer:
    (folder / "work").mkdir(exist_ok=True)
    program = write(folder / "work", text)
    return twinrun("resume", "--output-format", "json", *options, program, cwd=folder / "work")


def parts(found: dict[str, Any]) -> list[str]:
    return [hole["part"] for stop in found["stops"] for hole in stop["holes"]]


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_a_program_that_restores_all_it_needs(tmp_path: Path, how: str) -> None:
    answer = resume(tmp_path, PROGRAM, "--signal", how)
    found = answer.document
    assert (answer.code, found["verdict"], found["steps"], found["signal"]) == (0, "repeats", 12, how), found
    assert found["checkpoints"] == [4, 8]
    assert [(stop["at"], stop["resumed_after"], stop["steps"]) for stop in found["stops"]] == [
        (4, 4, 8),
        (8, 8, 4),
    ]
    assert [stop["files"] for stop in found["stops"]] == [{"equal": 1, "different": [], "texts": []}] * 2
    assert not (tmp_path / "work" / "saved.json").exists()  # every run has its own view of the folder


def test_steps_that_are_done_again_after_a_stop_between_checkpoints(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM, "--at", "6,10")
    found = answer.document
    assert found["verdict"] == "repeats"
    assert re.search(r"stop 2 of 2, about \d+ s left: stopped after step 10, started again", answer.err)
    assert [(stop["at"], stop["resumed_after"]) for stop in found["stops"]] == [(6, 4), (10, 8)]


def test_before_the_first_checkpoint_starting_over_is_right_and_shows_nothing_of_a_resume(
    tmp_path: Path,
) -> None:
    answer = resume(tmp_path, PROGRAM, "--at", "2")
    found = answer.document
    [stop] = found["stops"]
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "no-checkpoint")
    assert (stop["outcome"], stop["resumed_after"]) == ("equal", 0)
    assert "nothing had been saved yet" in stop["notes"][0]


def test_a_stop_before_the_first_checkpoint_beside_one_that_was_resumed(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM, "--at", "2,6")
    assert (answer.code, answer.document["verdict"]) == (0, "repeats")


def test_a_stop_at_random_can_be_repeated(tmp_path: Path) -> None:
    found = resume(tmp_path, PROGRAM, "--at", "random").document
    at = found["stops"][0]["at"]
    assert found["verdict"] == "repeats" and 4 <= at <= 11
    assert f"--at {at}" in found["notes"][-1]


def test_a_program_that_starts_over(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM.replace("if file.exists()", "if False"), "--at", "6")
    found = answer.document
    assert (answer.code, found["stops"][0]["outcome"], parts(found)) == (1, "started-over", ["start"])
    assert (
        found["findings"][0]["code"] == "TW701"
        and "started over from step 1" in found["findings"][0]["message"]
    )


def test_data_that_begins_anew(tmp_path: Path) -> None:
    text = PROGRAM.replace("for step in range(first, 12):", "for place, step in enumerate(range(first, 12)):")
    text = text.replace("* (step + 1)\n", "* (place + 1)\n")
    answer = resume(tmp_path, text, "--at", "6")
    found = answer.document
    assert (answer.code, parts(found)) == (1, ["data-position"])
    assert (found["stops"][0]["resumed_after"], found["stops"][0]["first_difference"]["step"]) == (4, 5)
    assert found["findings"][0]["code"] == "TW207"
    assert "at step 5 it was fed the batch of step 1" in found["findings"][0]["evidence"][0]


def test_random_numbers_of_pythons_that_begin_anew(tmp_path: Path) -> None:
    """Nothing that is seen holds their state."""
    text = PROGRAM.replace("import json,", "import random, json,").replace(
        "tinynet.seed(1)", "random.seed(1)\ntinynet.seed(1)"
    )
    text = text.replace("np.ones(4))\n", "np.ones(4))\n    model.weight = model.weight + random.random()\n")
    answer = resume(tmp_path, text, "--at", "6")
    found = answer.document
    assert (answer.code, parts(found), found["stops"][0]["resumed_after"]) == (1, ["unseen"], 4), found
    assert found["stops"][0]["first_difference"]["step"] == 5
    assert "random.getstate()" in found["findings"][0]["fix"]


def test_more_steps_than_were_left(tmp_path: Path) -> None:
    text = PROGRAM.replace("range(first, 12)", "range(first, first + 12)")
    assert parts(resume(tmp_path, text, "--at", "6").document) == ["steps"]


def test_a_checkpoint_that_the_kill_damaged(tmp_path: Path) -> None:
    """The program writes in place, and is killed while it does. What it logs at every step is no save."""
    slow = """def save(step):
    if step == 8:
        half = file.open("w")
        half.write("{")
        half.flush()
        time.sleep(1)
"""
    text = PROGRAM.replace("def save(step):\n", slow)
    text = text.replace(
        "    x = ", "    print(step, file=open('log.txt', 'a'))\n    time.sleep(0.03)\n    x = "
    )
    answer = resume(tmp_path, text, "--at", "save", "--signal", "SIGTERM")
    found = answer.document
    damaged = next(stop for stop in found["stops"] if stop["at"] == 8)
    assert (answer.code, damaged["outcome"], parts(found)) == (1, "failed", ["loading"]), found
    assert damaged["notes"] == ["killed when it had begun to write saved.json"]
    assert found["signal"] == "SIGKILL"
    assert "JSONDecodeError" in found["findings"][0]["evidence"][0]
    assert found["findings"][0]["message"] == FAILS


def test_a_checkpoint_that_the_kill_damaged_and_the_program_passes_over(tmp_path: Path) -> None:
    """It had a whole one, writes over it, and starts over where it cannot read it."""
    text = PROGRAM.replace("if file.exists():\n", "try:\n")
    text = text.replace('saved["step"]\n', 'saved["step"]\nexcept (OSError, ValueError):\n    pass\n')
    slow = """def save(step):
    with file.open("w") as half:
        half.write("{")
        half.flush()
        time.sleep(0.5)
"""
    answer = resume(tmp_path, text.replace("def save(step):\n", slow), "--at", "save")
    found = answer.document
    assert (answer.code, found["checkpoints"], parts(found)) == (1, [4, 8], ["saving"]), found
    assert [stop["outcome"] for stop in found["stops"]] == ["equal", "started-over"]
    [finding] = found["findings"]
    assert "killed while it saved" in finding["message"] and "os.replace" in finding["fix"]
    assert "killed when it had begun to write saved.json" in finding["evidence"][0]


def test_a_program_that_cannot_be_started_twice(tmp_path: Path) -> None:
    """No checkpoint is damaged, and the answer does not say so."""
    text = PROGRAM.replace("model =", 'os.mkdir("out")\nmodel =')
    answer = resume(tmp_path, text, "--at", "6")
    found = answer.document
    [finding] = found["findings"]
    assert (answer.code, parts(found), finding["message"]) == (1, ["loading"], FAILS), found
    assert "FileExistsError" in finding["evidence"][0] and "exist_ok" in finding["fix"]


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
        ("raise OSError(98, os.strerror(98))", "OSError: [Errno 98] Address already in use"),
    ],
)
def test_a_restart_that_lacked_what_no_file_gives_is_not_judged(
    tmp_path: Path, fails: str, says: str
) -> None:
    answer = resume(
        tmp_path, PROGRAM.replace("if file.exists():", f"if file.exists():\n    {fails}"), "--at", "6"
    )
    found = answer.document
    assert (answer.code, found["reason_kind"], found["findings"]) == (2, "crashed", []), found
    assert (
        "may have another cause than what the stopped run left" in found["reason"] and says in found["reason"]
    )


def test_a_handler_that_saves_on_SIGTERM(tmp_path: Path) -> None:
    handler = """
def ask(*_):
    global asked
    asked = True

asked = False
signal.signal(signal.SIGTERM, ask)
for step in"""
    text = PROGRAM.replace("\nfor step in", handler)
    text += "    if asked:\n        save(step + 1)\n        sys.exit(0)\n"
    found = resume(tmp_path, text, "--at", "6", "--signal", "SIGTERM").document
    [stop] = found["stops"]
    assert found["verdict"] == "repeats" and stop["resumed_after"] in (6, 7), found


def test_a_program_that_trains_to_its_end_despite_the_signal_is_not_judged(tmp_path: Path) -> None:
    text = PROGRAM.replace("\nfor step in", "\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor step in")
    answer = resume(tmp_path, text, "--at", "6", "--signal", "SIGTERM")
    found = answer.document
    assert (answer.code, found["reason_kind"]) == (2, "not-comparable"), found
    assert "it trained to its end despite SIGTERM" in found["reason"]


def test_what_is_saved_on_SIGTERM_alone_and_never_loaded(tmp_path: Path) -> None:
    text = PROGRAM.replace("if file.exists()", "if False").replace("        save(step + 1)", "        pass")
    handler = "\nsignal.signal(signal.SIGTERM, lambda *_: (save(0), os._exit(0)))\nfor step in"
    answer = resume(tmp_path, text.replace("\nfor step in", handler), "--at", "6", "--signal", "SIGTERM")
    found = answer.document
    assert (answer.code, found["checkpoints"], found["stops"][0]["outcome"]) == (1, [], "started-over"), found
    assert "after SIGTERM it had written saved.json" in found["findings"][0]["evidence"][0]


def test_a_file_that_is_written_once_does_not_make_a_log_of_what_is_saved_at_every_step(
    tmp_path: Path,
) -> None:
    text = PROGRAM.replace("% 4 == 0", "% 1 == 0")
    text = text.replace("\nfor step in", "\npathlib.Path('config.json').write_text('{}')\nfor step in")
    found = resume(tmp_path, text, "--most", "1").document
    assert (found["verdict"], found["checkpoints"][-3:]) == ("repeats", [9, 10, 11]), found


@pytest.mark.parametrize("saved_as", ["npz", "pickle", "json"])
def test_a_checkpoint_of_every_step_beside_a_log_of_some(tmp_path: Path, saved_as: str) -> None:
    """The program never loads it. Whether a text that is written at every step is a checkpoint, nothing shows."""
    text = PROGRAM.replace("if file.exists()", "if False").replace("        save(step + 1)", LOG)
    saves = {
        "npz": 'np.savez("state.npz", weight=model.weight, step=step)',
        "pickle": 'pathlib.Path("state.pkl").write_bytes(pickle.dumps([model.weight, step]))',
        "json": "save(step + 1)",
    }
    text = f"import pickle{text}    {saves[saved_as]}\n"
    answer = resume(tmp_path, text, "--at", "2")
    found = answer.document
    [stop] = found["stops"]
    if saved_as != "json":
        assert (answer.code, found["checkpoints"][-10:], parts(found)) == (1, [*range(2, 12)], ["start"])
    else:
        assert (answer.code, found["reason_kind"]) == (2, "no-checkpoint"), found
        assert (
            "nothing had been saved yet but what is written after most steps, as logs are (saved.json)"
            in stop["notes"][0]
        )


LOG = "        print(step, file=open('log.csv', 'a'))"


def test_a_program_that_does_not_repeat_is_not_judged(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM.replace("tinynet.seed(1)", ""))
    found = answer.document
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "not-repeating")
    assert "twinrun check" in found["notes"][-1]
    assert resume(tmp_path, PROGRAM.replace("tinynet.seed(1)", ""), "--pin", "--at", "6").code == 0


def test_a_program_that_saves_nothing(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM.replace("        save(step + 1)", "        pass"))
    assert (answer.code, answer.document["reason_kind"]) == (2, "no-checkpoint")


def test_what_the_program_leaves_is_compared_too(tmp_path: Path) -> None:
    """It forgets how good its best model was, and replaces it with a worse one. Lines that a log has more, names of arrays, and
    files that differ from run to run do not count."""
    text = PROGRAM.replace("def save", "best = 9.0\ndef save")
    text += """    with open("log.txt", "a") as log:
        print(f"step {step + 1}", file=log)
    if model.weight[0] < best:
        best = model.weight[0]
        np.save("best.npy", model.weight)
        pathlib.Path("best.json").write_text(f"{best}\\n")
np.savez("renamed.npz", **{f"weight-{first}": model.weight})
np.save("made-up.npy", np.frombuffer(os.urandom(8), "u1"))
"""
    answer = resume(tmp_path, text, "--at", "6")
    found = answer.document
    [stop] = found["stops"]
    assert (answer.code, found["reason_kind"], stop["outcome"]) == (2, "unwatched-output", "equal"), found
    assert stop["files"] == {
        "equal": 1,
        "different": ["best.json", "best.npy"],
        "texts": ["log.txt", "renamed.npz"],
    }
    assert "best.json, best.npy" in found["reason"]
    assert "not compared, as they differ from run to run: made-up.npy" in found["notes"]


@pytest.mark.parametrize(
    ("done", "code", "says"), [(4, 0, "written over: saved.json"), (12, 2, "move it away")]
)
def test_what_an_earlier_run_left_is_noted(tmp_path: Path, done: int, code: int, says: str) -> None:
    """The program goes on from it, also where it is left alone. After the last step there is nothing left to stop."""
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", json.dumps({"weight": [0.5, 0.25, 0.125], "step": done}), "saved.json")
    answer = resume(tmp_path, PROGRAM)
    found = answer.document
    assert (answer.code, found["steps"]) == (code, 12 - done), found
    assert says in found["notes"][0]


def test_a_checkpoint_outside_of_the_folder_is_named_and_nothing_is_called_resumed(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    text = PROGRAM.replace('pathlib.Path("saved', f'pathlib.Path("{outside}/saved')
    text = text.replace(
        "os.replace(partial, file)", "file.write_text(partial.read_text())"
    )  # both twins do so
    answer = resume(tmp_path, text)
    found = answer.document
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "no-checkpoint"), found
    assert f"shared by all runs: {outside}/saved.json" in " ".join(found["notes"])


CHILD = """
import sys
import numpy as np
import tinynet

tinynet.seed(2)
tinynet.Line(3).train_step(np.full((4, 3), float(sys.argv[1])), np.ones(4))
"""


def test_processes_that_the_program_starts_are_compared_as_wholes(tmp_path: Path) -> None:
    """One does the same in every run, the other something else after a restart."""
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", CHILD, "worker.py")
    text = "import subprocess" + PROGRAM
    for argument in ("1", "first + 2"):
        text += f"subprocess.run([sys.executable, 'worker.py', str({argument})], check=True)\n"
    answer = resume(tmp_path, text, "--at", "6")
    found = answer.document
    assert (answer.code, found["reason_kind"], found["children"]) == (2, "not-comparable", 2), found
    assert "but not worker.py 2, which it starts" in found["reason"]


def test_a_program_that_lets_others_train_cannot_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", PROGRAM, "worker.py")
    answer = resume(
        tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, 'worker.py'], check=True)\n"
    )
    assert (answer.code, answer.document["reason_kind"]) == (2, "no-step")
    assert "done by a process that the program starts" in answer.document["reason"]


def test_a_restart_that_fails_later(tmp_path: Path) -> None:
    text = PROGRAM.replace("    x = ", "    assert not (first and step == 10)\n    x = ")
    answer = resume(tmp_path, text, "--at", "6")
    [stop] = answer.document["stops"]
    assert (answer.code, stop["outcome"]) == (1, "failed") and "exit code 1 after 5 steps" in stop["reason"]
    assert "AssertionError" in stop["output_tail"]
    [finding] = answer.document["findings"]
    assert finding["code"] == "TW701" and "fails after some steps" in finding["message"] and finding["fix"]
    assert "it ended with exit code 1 after 5 steps: AssertionError" in finding["evidence"][0]


def test_a_program_that_fails_by_itself(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM + "raise SystemExit(3)\n")
    assert (answer.code, answer.document["reason_kind"]) == (2, "crashed")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--at", "soon"], "invalid value for --at: 'soon'"),
        (["--at", "0"], "invalid value for --at: '0'"),
        (["--at", "6,x"], "write a step (--at 20)"),
        (["--signal", "SIGINT"], "SIGINT"),
        (["--most", "0"], "most must be at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: list[str], says: str) -> None:
    answer = twinrun("resume", *options, write(tmp_path, PROGRAM))
    assert answer.code == 2 and says in answer.message, answer.err


def test_a_step_that_the_program_does_not_take(tmp_path: Path) -> None:
    answer = resume(tmp_path, PROGRAM, "--at", "12")
    assert answer.code == 2 and "--at 12: the program takes 12 steps" in answer.message


def test_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program = write(tmp_path / "work", PROGRAM.replace("if file.exists()", "if False"))
    answer = twinrun("resume", "--at", "6", program, cwd=tmp_path / "work")
    assert answer.code == 1
    assert "diverges: stopped after step 6, it started over from step 1" in answer.out
    assert "error[TW701]: the program started over" in answer.out and "fix:" in answer.out


def test_interrupted_it_leaves_a_result(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    slow = PROGRAM.replace("    x = ", "    time.sleep(0.5)\n    x = ")
    program = write(tmp_path / "work", slow)
    words = ("resume", "--output-format", "json", "--dir", tmp_path / "kept", program)
    process = start(*words, cwd=tmp_path / "work")
    while not (tmp_path / "kept" / "B").is_dir():
        assert process.poll() is None
        time.sleep(0.05)
    interrupt(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert '"reason_kind": "interrupted"' in out
