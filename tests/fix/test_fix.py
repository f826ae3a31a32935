"""`twinrun fix` as its users run it: real twins, a patch that git applies, and plain runs that then agree."""

from __future__ import annotations

import os
import pty
import re
import stat
import subprocess
from pathlib import Path

import pytest

from support import COMMAND, environment, python, twinrun, write

PROGRAM = """\
#!/usr/bin/env python
\"\"\"Fits nothing, and shows what it draws.\"\"\"
import random

import numpy as np

import twinrun
from helper import noise  # of our own


def steps():
    for step in range(3):
        rng = np.random.default_rng()  # a new one each time
        twinrun.probe("x", np.random.rand(3) + random.random() + rng.normal() + noise())
        yield step


names = {"alpha", "beta", "gamma", "delta"}
order = ",".join(names)
twinrun.probe("order", np.array([ord(letter) for letter in order]))
print(list(steps()), order, np.random.rand())
"""
HELPER = (
    "import numpy as np\r\n\r\nRNG = np.random.RandomState()\r\n\r\n\r\ndef noise():\r\n\treturn RNG.rand()"
)
ONE = 'import numpy as np\nimport twinrun\n\ntwinrun.probe("x", np.random.rand(3))\n'


def git(folder: Path, *words: str, stdin: str | None = None) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


def committed(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "as it was")


def test_a_program_with_many_causes_in_two_files_repeats_with_the_patch(tmp_path: Path) -> None:
    committed(tmp_path, train=PROGRAM, helper=HELPER)
    # To a file: what is captured as text would lose the carriage returns of the helper.
    found = twinrun("fix", "--output-file", "fix.patch", "train.py", cwd=tmp_path)
    assert found.code == 0, found.out + found.err
    assert git(tmp_path, "diff", "--stat", "--", "*.py") == ""  # the user's files are as they were
    assert re.search(r"^with this patch, \d+ runs", found.err, re.MULTILINE)
    progress = r"check 1: the program as it is\ntrying 1 of about \d+: (.*\n)+check 2: with \d+ changes?\n"
    assert re.match(progress, found.err)
    git(tmp_path, "apply", "fix.patch")
    train, helper = ((tmp_path / name).read_bytes().decode() for name in ("train.py", "helper.py"))
    assert train.count("SEED = 42") == helper.count("SEED = 42") == 1
    assert "rng = np.random.default_rng(SEED)  # a new one each time\n" in train
    assert helper == HELPER.replace("numpy as np\r\n", "numpy as np\r\n\r\nSEED = 42\r\n").replace(
        "()\r\n\r\n\r\n", "(SEED)\r\n\r\n\r\n"
    )
    printed = {python("train.py", cwd=tmp_path, PYTHONHASHSEED=seed).out for seed in "123"}
    assert len(printed) == 1 and printed != {""}


def test_outside_of_git_writing_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    refused = twinrun("fix", "--write", write(tmp_path, "open('ran', 'w')"), cwd=tmp_path)
    assert refused.code == 2 and "is not in a git repository" in refused.message
    assert not (tmp_path / "ran").exists()


def test_the_patch_is_written_only_where_git_can_take_it_back(tmp_path: Path) -> None:
    committed(tmp_path, train=ONE)
    script = tmp_path / "train.py"
    script.chmod(0o755)
    git(tmp_path, "commit", "-qam", "mode")
    script.write_text(ONE + "# not committed\n")
    refused = twinrun("fix", "--write", "train.py", cwd=tmp_path)
    assert refused.code == 2 and "uncommitted" in refused.message and "--force" in refused.message
    assert script.read_text() == ONE + "# not committed\n"
    assert "+np.random.seed(" in refused.out  # what was found is not lost
    git(tmp_path, "checkout", "train.py")
    written = twinrun("fix", "--write", "--seed", "7", "--output-format", "json", "train.py", cwd=tmp_path)
    assert written.code == 0 and written.document["written"]
    assert "np.random.seed(7)" in script.read_text()
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert git(tmp_path, "diff", "--stat")
    assert python("train.py", cwd=tmp_path).code == 0
    document = written.document
    assert document["schema"] == "twinrun/fix/1" and document["verdict"] == "repeats"
    assert [change["code"] for change in document["changes"]] == ["TW102"]
    git(tmp_path, "checkout", "train.py")
    git(tmp_path, "apply", stdin=document["diff"].replace("seed(7)", "seed(8)"))
    assert "np.random.seed(8)" in script.read_text()


def test_a_program_that_repeats_gets_an_empty_patch(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(ONE.replace("np.random.rand(3)", "np.ones(3)"))
    found = twinrun("fix", "train.py", cwd=tmp_path)
    assert (found.code, found.out) == (0, "")
    assert "without any change, 2 runs" in found.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--interactive", "train.py"), "needs a terminal"),
        (("none.py",), "no such program"),
        ((), "which program"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "train.py").write_text(ONE)
    refused = twinrun("fix", *words, cwd=tmp_path)
    assert refused.code == 2 and message in refused.message and not refused.out


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1)])
def test_each_change_is_asked_about_on_a_terminal(tmp_path: Path, answer: str, code: int) -> None:
    (tmp_path / "train.py").write_text(ONE)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "fix", "--interactive", "--no-progress", "train.py"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(),
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        assert process.stdout is not None
        patch = process.stdout.read()
        assert process.wait(timeout=120) == code
    os.close(ours)
    assert (b"np.random.seed(42)" in patch) == (answer == "y")


TRAINING = """
import tensorflow as tf

weight = tf.Variable(tf.random.normal([2, 1]))
data = tf.data.Dataset.range(64)
data = data.map(lambda i: tf.fill([2], tf.cast(i, tf.float32) / 64) + tf.random.uniform([2]), num_parallel_calls=4)
for x in data.shuffle(64).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weight - 1.0) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
print(weight.numpy().tolist())
"""


@pytest.mark.slow  # a minute
def test_a_training_program_with_a_racing_map_repeats_with_the_patch(tmp_path: Path) -> None:
    committed(tmp_path, train=TRAINING)
    found = twinrun("fix", "train.py", cwd=tmp_path, timeout=600)
    assert found.code == 0, found.out + found.err
    assert "set_random_seed" in found.out and "stateless_uniform" in found.out
    git(tmp_path, "apply", stdin=found.out)
    printed = {python("train.py", cwd=tmp_path).out for _ in range(3)}
    assert len(printed) == 1 and printed != {""}
