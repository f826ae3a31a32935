"""The code blocks and command lines of pages that need a program of their own, run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import ROOT, blocks, words

from support import PLAIN, python, twinrun, write

PAGES = ROOT / "docs" / "how-to"
pytestmark = pytest.mark.usefixtures("tinynet")


def code(page: str) -> list[str]:
    """Its blocks of Python, fenced or indented."""
    text = (PAGES / f"{page}.md").read_text()
    fenced = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    found = [*fenced, *(re.sub("^    ", "", block, flags=re.MULTILINE) for block in indented)]
    return [block for block in found if "twinrun." in block]


def test_the_probe_of_the_page_is_compared(tmp_path: Path) -> None:
    (block,) = code("probe")
    before = "import random\nimages = [1.0, 2.0]\nextract = "
    write(tmp_path, f"{before}list\n{block}")
    assert twinrun("check", "train.py", cwd=tmp_path).out.startswith(
        "repeats: 2 runs, evaluations and probes compared"
    )
    write(tmp_path, f"{before}lambda x: [random.random() for _ in x]\n{block}")
    found = twinrun("check", "--no-diagnose", "train.py", cwd=tmp_path).out
    assert found.startswith("diverges at step 0, phase probe: features differs")


def test_pinning_from_inside_as_on_the_page(tmp_path: Path) -> None:
    inside, scoped = code("pin")
    assert "import tensorflow as tf\n…\n" in inside
    write(tmp_path, inside.replace("import tensorflow as tf\n…\n", "import random\nprint(random.random())\n"))
    first, again = (python("train.py", cwd=tmp_path) for _ in range(2))
    assert first.code == 0 and first.out == again.out
    write(tmp_path, "import twinrun\n" + scoped.replace("…", "import random\n    print(random.random())"))
    first, again = (python("train.py", cwd=tmp_path) for _ in range(2))
    assert first.code == 0 and first.out == again.out


# Saves after every fourth step, and goes on from there.
RESUMED = """
import json, os, pathlib
import numpy as np
import tinynet
tinynet.seed(1)
file, model, first = pathlib.Path("saved.json"), tinynet.Line(2), 0
if file.exists():
    saved = json.loads(file.read_text())
    model.weight, first = np.array(saved["weight"]), saved["step"]
for step in range(first, 12):
    model.train_step(np.arange(8).reshape(4, 2) / (step + 1), np.ones(4))
    if step % 4 == 3:
        pathlib.Path("partial").write_text(json.dumps({"weight": model.weight.tolist(), "step": step + 1}))
        os.replace("partial", file)
"""


def test_the_command_of_the_page_on_resuming_works(tmp_path: Path) -> None:
    ((line,),) = blocks(PAGES / "resume.md")
    write(tmp_path, RESUMED)
    answer = twinrun(*words(line), cwd=tmp_path)
    assert answer.code == 0 and answer.out.startswith("repeats: stopped by SIGKILL 2 times, resumed equals ")


TESTED = f"""
import json
import twinrun as library
{PLAIN}
x = y = None
class Trained(dict):
    def evaluate(self, x, y):
        return 0.5
class keras:
    class utils:
        set_random_seed = staticmethod(tinynet.seed)
def build_and_fit():
    train(2)
    return Trained(weight=model.weight)
def fit(epochs):
    train(epochs)
"""


def test_the_tests_of_the_page_on_pytest_pass(tmp_path: Path) -> None:
    marked, *others = re.findall(
        r"^```python\n(.*?)^```$", (PAGES / "test-with-pytest.md").read_text(), re.MULTILINE | re.DOTALL
    )
    marked = marked.replace("train(epochs=1)", "fit(epochs=1)")
    write(tmp_path, "\n".join([TESTED, marked, *others]), "test_training.py")
    write(tmp_path, f"{PLAIN}\ntrain(2)\n")
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
    recorded = python(*command, "--twinrun-record", cwd=tmp_path)
    assert recorded.code == 0 and "3 passed" in recorded.out, recorded.out + recorded.err
    held = python(*command, "-k", "small_model", cwd=tmp_path)
    assert held.code == 0 and "1 passed" in held.out, held.out


SPREAD = f"""
import argparse
{PLAIN}
parser = argparse.ArgumentParser()
for name, kind in (("--seed", int), ("--epochs", int), ("--lr", float)):
    parser.add_argument(name, type=kind)
given, _ = parser.parse_known_args()
import random
import twinrun
train(2)
twinrun.probe("accuracy", 0.9 + random.random() / 100)
"""


@pytest.mark.slow  # a hundred runs
def test_the_commands_of_the_page_on_spread_work_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name in ("train.py", "package/train.py"):
        write(tmp_path, SPREAD, name)
    for name in ("a.json", "b.json"):
        made = twinrun(
            "spread",
            "--output-format",
            "json",
            "--output-file",
            name,
            "--seeds",
            "4",
            "train.py",
            cwd=tmp_path,
        )
        assert made.code == 0, made.err
    for line in [line for block in blocks(PAGES / "measure-the-spread.md") for line in block]:
        answer = twinrun(*words(line), cwd=tmp_path)
        assert answer.code == 0, f"{line}\n{answer.out}\n{answer.err}"


@pytest.mark.slow  # half a minute
def test_the_loops_of_the_page_on_resuming_train(tmp_path: Path) -> None:
    fit, loop = code("resume")
    made = """
import keras, numpy as np, tensorflow as tf, twinrun
x, y = np.ones((64, 2), "f"), np.ones((64, 1), "f")
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
model.compile(optimizer, "mse")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
def train_step(x, y):
    model.train_on_batch(x, y)
"""
    for block in (fit, loop):
        write(tmp_path, made + block)
        answer = python("train.py", cwd=tmp_path)
        assert answer.code == 0, answer.err[-2000:]


@pytest.mark.slow  # a minute
def test_the_commands_of_the_readme_give_what_it_shows() -> None:
    shown = re.findall(r"^```console\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    tried = [block.splitlines() for block in shown if "twinrun check" in block]
    assert len(tried) == 2
    for (command, *lines), code in zip(tried, (0, 1), strict=True):
        answer = twinrun(*words(command[2:]), cwd=ROOT)
        stable = [
            line
            for line in lines
            if re.match(r"repeats|diverges|error\[| *-->|  = |  fix|       [+|]|  see", line)
        ]
        assert answer.code == code and stable and set(stable) <= set(answer.out.splitlines()), answer.out
