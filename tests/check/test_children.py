"""What a program trains in processes that it starts is compared like what it trains itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support import BY_HAND, PLAIN, Answer, check, executable, outputs, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

# Starts children in the ways that its first argument says; each probes what `value` gives it.
STARTS = """
import concurrent.futures, multiprocessing, os, subprocess, sys, threading, time
import twinrun
(HOW, *MORE), KIND, MARKER = sys.argv[1].split(","), *sys.argv[2:4]
def value(number):
    if KIND == "equal":
        return number
    if KIND == "different":
        return os.getpid()
    return number if number == 1 or first(f"{MARKER}-{number}") else None
def work(number, *_):
    found = value(number)
    if found is not None:
        twinrun.probe("found", found)
    if HOW == "killed":
        os.kill(os.getpid(), 9)
    if HOW in ("daemon", "left behind"):
        queue.put(1)
        time.sleep(600)
def first(marker):
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
def together(given):
    global barrier
    barrier = given
def each_worker(number):
    barrier.wait()  # so that neither gets both
    work(number)
def command(number):
    return [sys.executable, __file__, "child", KIND, MARKER, str(number)]
def start():
    if HOW in ("fork", "spawn", "forkserver", "killed", "failed"):
        context = multiprocessing.get_context("fork" if HOW in ("killed", "failed") else HOW)
        for number in (1, 2):
            child = context.Process(target=work, args=(number,))
            child.start()
            child.join()
        if HOW == "failed":
            sys.exit(1)
    elif HOW in ("daemon", "left behind"):
        global queue
        queue = multiprocessing.get_context("fork").Queue()
        multiprocessing.get_context("fork").Process(target=work, args=(1,), daemon=True).start()
        queue.get()
        if HOW == "left behind":
            os._exit(0)
    elif HOW == "os.fork":
        for number in (1, 2):
            child = os.fork()
            if child == 0:
                work(number)
                os._exit(0)
            os.waitpid(child, 0)
    elif HOW == "subprocess":
        for number in (1, 2):
            subprocess.run(command(number), check=True, env={} if number == 1 else {**os.environ, "X": "y"})
    elif HOW == "posix_spawn":
        child = os.posix_spawn(sys.executable, command(2), os.environ)
        os.waitpid(child, 0)
    elif HOW == "system":
        assert os.system(" ".join(command(1)) + " && " + " ".join(command(2))) == 0
    elif HOW == "fork and exec":
        child = os.fork()
        if child == 0:
            os.execv(sys.executable, command(2))
        os.waitpid(child, 0)
    elif HOW == "nested":
        code = f"import subprocess, sys; subprocess.run({command(2)}, check=True)"
        subprocess.run([sys.executable, "-c", code], check=True)
    elif HOW == "one worker":
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            list(pool.map(work, (1, 2)))
    elif HOW == "two workers":
        context = multiprocessing.get_context("fork")
        with context.Pool(2, together, (context.Barrier(2),)) as pool:
            pool.map(each_worker, (1, 2), chunksize=1)
    elif HOW == "threads":
        threads = [threading.Thread(target=subprocess.run, args=(command(number),)) for number in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
if __name__ == "__main__":
    if HOW == "child":
        work(int(sys.argv[4]))
    else:
        for HOW in (HOW, *MORE):
            start()
"""

WAYS = [
    "fork",
    "spawn",
    "forkserver",
    "os.fork",
    "subprocess",
    "posix_spawn",
    "system",
    "fork and exec",
    "nested",
    "one worker",
]


def run(folder: Path, how: str, kind: str, *options: str) -> Answer:
    place = folder / "program"  # of which each twin has its own view; the marker is shared
    place.mkdir()
    return check(write(place, STARTS), *options, arguments=[how, kind, folder / "marker"])


@pytest.mark.parametrize(
    ("how", "count"), [(",".join(WAYS), 16), ("threads", 3), ("daemon", 1), ("left behind", 1)]
)
def test_children_that_repeat(tmp_path: Path, how: str, count: int) -> None:
    document = run(tmp_path, how, "equal").document
    assert document["verdict"] == "repeats", document
    assert [child["verdict"] for child in document["children"]] == ["repeats"] * count


@pytest.mark.parametrize("how", [*WAYS, "threads"])
def test_a_child_that_differs_is_named(tmp_path: Path, how: str) -> None:
    document = run(tmp_path, how, "different").document
    assert document["verdict"] == "diverges", document
    first = document["first_difference"]
    assert (first["phase"], first["tensor"]) == ("probe", "found")
    assert first["process"].startswith("child 1 (")


@pytest.mark.parametrize("how", ["fork", "subprocess"])
def test_a_child_that_trains_in_one_twin_only(tmp_path: Path, how: str) -> None:
    document = run(tmp_path, how, "once").document
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "uneven"), document
    assert "only" in document["reason"] and "child 2" in document["reason"]


def test_a_child_that_was_killed_is_not_judged(tmp_path: Path) -> None:
    document = run(tmp_path, "killed", "equal").document
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "abrupt-exit"), document
    assert "child 1 (multiprocessing ForkProcess-1)" in document["reason"]


@pytest.mark.parametrize(("kind", "verdict"), [("equal", "repeats"), ("different", "undecided")])
def test_workers_that_share_their_work(tmp_path: Path, kind: str, verdict: str) -> None:
    document = run(tmp_path, "two workers", kind).document
    assert document["verdict"] == verdict, document
    if verdict == "undecided":
        assert document["reason_kind"] == "not-comparable" and "pool" in document["reason"]


def test_children_are_compared_one_after_the_other_and_offline(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    document = run(tmp_path, "spawn", "different", "--sequential", "--dir", str(kept)).document
    assert document["verdict"] == "diverges"
    answer = twinrun("diff", "--output-format", "json", kept / "A", kept / "B")
    assert answer.document["first_difference"]["process"] == document["first_difference"]["process"]


@pytest.mark.parametrize(
    ("how", "kind", "label"),
    [
        ("left behind", "equal", "repeats"),
        ("spawn", "different", "diverges"),
        ("killed", "equal", "undecided[abrupt-exit]"),
        ("failed", "equal", "undecided[crashed]"),
    ],
)
def test_children_of_runs_that_are_compared_later(tmp_path: Path, how: str, kind: str, label: str) -> None:
    program = write(tmp_path, STARTS)
    for name in ("a", "b"):
        answer = twinrun("run", "--dir", tmp_path / name, program, how, kind, "unused")
        assert "no training step" not in answer.out, answer
    document = twinrun("diff", "--output-format", "json", tmp_path / "a" / "A", tmp_path / "b" / "A").document
    kind = f"[{document['reason_kind']}]" if document["reason_kind"] else ""
    assert document["verdict"] + kind == label, document


def test_children_that_only_work_are_no_part_of_the_result(tmp_path: Path) -> None:
    program = """
    import multiprocessing, os, subprocess, sys, twinrun
    def square(x):
        return x * x + 0 * os.getpid()
    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            twinrun.probe("squares", pool.map(square, range(8)))
        subprocess.run([sys.executable, "-I", "-c", "print('isolated')"], check=True)
        subprocess.run([sys.executable, "-S", "-m", "platform"], check=True, stdout=subprocess.DEVNULL)
    """
    document = check(write(tmp_path, program)).document
    assert (document["verdict"], document["children"]) == ("repeats", []), document


def test_a_child_sees_what_it_sees_under_plain_python(tmp_path: Path) -> None:
    look = "import json, os, sys; print(json.dumps([sys.path, dict(os.environ), sorted({'numpy', 'tensorflow'} & set(sys.modules))]))"
    program = f"""
    import subprocess, sys, twinrun
    for env in (None, {{}}, {{"PYTHONPATH": "/else"}}):
        subprocess.run([sys.executable, "-c", {look!r}], check=True, env=env)
    twinrun.probe("done", 1)
    """
    path = write(tmp_path, program)
    document = check(path).document
    plain = _plain(path)
    for text in outputs(document):
        assert [json.loads(line) for line in text.splitlines()] == plain


def _plain(path: Path) -> list[Any]:
    from support import python

    return [json.loads(line) for line in python(path).out.splitlines()]


# Of an interpreter, a shell or `env`: with what takes Twinrun out, where it does.
COMMANDS = [
    ([sys.executable, "-I", "worker.py"], "-I"),
    (["env", "-i", sys.executable, "worker.py"], "env -i"),
    (["sh", "-c", f"cd . && PYTHONPATH=src {sys.executable} worker.py"], "PYTHONPATH=src"),
    (["./run.sh"], "PYTHONPATH=src"),
    (["sh", "-c", f"PYTHONPATH=src true; PYTHONPATH=src:$PYTHONPATH {sys.executable} worker.py"], ""),
]


@pytest.mark.parametrize(("command", "hidden"), COMMANDS)
def test_an_interpreter_that_cannot_be_watched_is_named(
    tmp_path: Path, command: list[str], hidden: str
) -> None:
    # A framework by name: nothing is installed that could be imported in its place.
    write(
        tmp_path,
        "try:\n    import tf_keras_that_is_not_there\nexcept ImportError:\n    pass\nif 0:\n    import tensorflow",
        "worker.py",
    )
    script = f"#!/bin/sh\nexport PYTHONPATH=src\necho started\n{sys.executable} worker.py"
    executable(tmp_path / "run.sh", script)
    program = f"import subprocess, twinrun\nsubprocess.run({command}, check=True)\ntwinrun.probe('done', 1)"
    document = check(write(tmp_path, program), cwd=tmp_path).document
    if not hidden:
        assert document["verdict"] == "repeats", document
        return
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "not-instrumented"), document
    assert f"it was started with {hidden}" in document["reason"]


def test_a_line_that_draws_in_a_child_is_the_cause(tmp_path: Path) -> None:
    program = """
    import multiprocessing, random, twinrun
    def work():
        twinrun.probe("drawn", random.random())
    if __name__ == "__main__":
        child = multiprocessing.get_context("spawn").Process(target=work)
        child.start()
        child.join()
    """
    path = write(tmp_path, program)
    document = twinrun("check", "--output-format", "json", path).document
    assert document["verdict"] == "diverges"
    (finding,) = document["findings"]
    assert (finding["code"], finding["line"], finding["confirmed"]) == ("TW101", 4, True), finding


DRAWS = """
def draws(seed):
    import numpy as np
    dice = np.random.default_rng(seed)
    train(5, batch=lambda step, x: x + float(dice.random()))
"""


@pytest.mark.parametrize(
    ("head", "seed", "verdict", "phase"),
    [
        (PLAIN, "1", "repeats", None),
        (PLAIN, "None", "diverges", "batch"),
        (BY_HAND, "None", "diverges", "loss"),
    ],
    ids=["repeats", "diverges", "diverges in TensorFlow"],
)
def test_a_model_that_is_trained_in_another_process(
    tmp_path: Path, head: str, seed: str, verdict: str, phase: str | None
) -> None:
    write(tmp_path, head + DRAWS, "model.py")
    program = f"""
    import multiprocessing, subprocess, sys
    def work(seed):
        import model
        model.draws(seed)
    if __name__ == "__main__":
        child = multiprocessing.get_context("fork").Process(target=work, args=(1,))
        child.start()
        child.join()
        subprocess.run([sys.executable, "-c", "import model; model.draws({seed})"], check=True)
    """
    document = check(write(tmp_path, program), cwd=tmp_path).document
    assert document["verdict"] == verdict, document
    assert document["children"][0]["steps"] == 5
    if verdict == "diverges":
        assert document["first_difference"]["process"].startswith("child 2 (-c import model")
        assert (document["first_difference"]["step"], document["first_difference"]["phase"]) == (1, phase)


@pytest.mark.slow
def test_loaders_with_a_framework_of_their_own_are_innocent(tmp_path: Path) -> None:
    program = (
        BY_HAND
        + """
    """
        + """
def load(number):
    import os
    tf.constant([1.0])  # and draws nothing that anybody sees
    return number / 10 + 0 * os.getpid()
if __name__ == "__main__":
    import concurrent.futures, multiprocessing
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        shifts = list(pool.map(load, range(3)))
    train(3, batch=lambda step, x: x + shifts[step - 1])
"""
    )
    document = check(write(tmp_path, program)).document
    assert (document["verdict"], document["steps_compared"], document["children"]) == ("repeats", 3, []), (
        document
    )
