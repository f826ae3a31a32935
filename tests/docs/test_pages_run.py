"""The code blocks and command lines of pages that need a program of their own, run as a reader would."""

from __future__ import annotations

import base64
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_lines import ROOT, blocks, words

from support import PLAIN, python, twinrun, write
from tracker_stand_ins import with_mlflow, with_wandb
from twinrun import magic
from twinrun.cli.group import cli
from twinrun.environment import probing
from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.environment.numeric_fingerprint import Fingerprint, Probe
from twinrun.trackers import TITLES

PAGES = ROOT / "docs" / "how-to"
pytestmark = pytest.mark.usefixtures("tinynet")


def console(page: str) -> list[str]:
    """Its blocks of commands, with what they answer."""
    text = (PAGES / f"{page}.md").read_text()
    return re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


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


# The program of which the page on auditing shows the answer.
AUDITED = """import keras
import numpy as np
import tensorflow as tf
np.random.seed(42)
tf.random.set_seed(42)
model = keras.Sequential(
    [
        keras.layers.Input((4,)),
        keras.layers.Dense(8),
        keras.layers.Dense(8),
        keras.layers.Dense(1),
    ]
)
model.fit(np.ones((8, 4)), np.ones(8))
"""


def test_the_audit_of_the_page_answers_as_it_shows(tmp_path: Path) -> None:
    command, *lines = console("audit-source")[0].splitlines()
    write(tmp_path, AUDITED)
    answer = twinrun(*words(command.removeprefix("$ ")), cwd=tmp_path)
    assert (answer.code, answer.out.splitlines()) == (1, lines), answer.out + answer.err


def test_the_fingerprints_of_the_page_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the probes, which take seconds and which other tests run: here there are two, and one of them differs."""

    def probe(name: str, group: str, value: float) -> Probe:
        values = base64.b64encode(np.full(4, value, np.float32).tobytes()).decode()
        return Probe(name, group, dtype="float32", shape=(4,), digest=str(value), values=values)

    def taken(value: float) -> Fingerprint:
        probes = (probe("matmul 32", "matmul", value), probe("uniform", "random stream", 1.0))
        return Fingerprint(Environment({}, EnvironmentKey()), probes)

    monkeypatch.chdir(tmp_path)
    block = console("compare-two-machines")[0]
    commands = re.findall(r"^(here|there)\$ +(twinrun .*)$", block, re.MULTILINE)
    assert [words(command) for _, command in commands] == [
        ["fingerprint"],
        ["fingerprint", "-o", "here.json"],
        ["fingerprint", "here.json"],
    ]
    answers = []
    for machine, command in commands:
        value = 1.0 if machine == "here" else 1.5
        monkeypatch.setattr(probing, "take", lambda *_, value=value, **__: taken(value))
        answers.append(CliRunner().invoke(cli, words(command)))
    assert [answer.exit_code for answer in answers] == [0, 0, 1]
    assert "wrote here.json" in block and answers[1].stderr.startswith("wrote here.json\n")
    for line in (
        "matmul (",
        "random stream: ",
        " ULPs apart, ",
        "do not expect a bitwise baseline to hold on both",
    ):
        assert line in block and any(line in answer.stdout for answer in answers), line


def test_the_clusters_of_the_page_answer_as_it_shows(tmp_path: Path) -> None:
    """With a framework that knows nothing of clusters: every worker trains by itself."""
    page = PAGES / "check-a-cluster.md"
    write(tmp_path, f"{PLAIN}\ntrain(4)\n")
    two, counts = [line for block in blocks(page) for line in block]
    answer = twinrun(*words(two), cwd=tmp_path)
    promised = answer.out.splitlines()[:3]
    assert answer.code == 0 and "\n".join(f"    {line}" for line in promised) in page.read_text(), answer.out
    answer = twinrun(*words(counts), cwd=tmp_path)
    assert answer.code in (0, 1) and "with 2 workers, beside 1 worker:\n" in answer.out, (
        answer.out + answer.err
    )


def test_the_cells_of_the_page_on_notebooks_have_options_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tests/notebooks/test_magic.py runs such cells in a real kernel."""
    monkeypatch.chdir(tmp_path)
    text = (PAGES / "notebooks.md").read_text()
    options = re.findall(r"^(?:    )?%%twinrun(.*)$", text, re.MULTILINE)
    assert options == ["", " --earlier", " --steps 20 --no-diagnose"]
    given = [magic._given(each) for each in options]
    assert [each["earlier"] for each in given] == [False, True, False]
    assert given[2]["steps"] == 20 and given[2]["no_diagnose"]


def test_the_checks_of_the_page_on_trackers_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To stand-ins, as far as a package is not installed."""
    init = "from types import SimpleNamespace as S; nothing = lambda *a, **b: None; return S(dir='files', offline=True, url='', summary={}, log=nothing, save=nothing, finish=nothing)"
    monkeypatch.setenv("PYTHONPATH", with_wandb(tmp_path, init))
    monkeypatch.setenv("PYTHONPATH", with_mlflow(tmp_path))
    write(tmp_path, f"{PLAIN}\ntrain(2)\n")
    lines, *_ = blocks(PAGES / "trackers.md")
    made = twinrun("check", "--output-format", "json", "-o", "result.json", "train.py", cwd=tmp_path)
    assert made.code == 0
    for line in lines:
        title = next(title for name, title in TITLES.items() if f"--{name}" in line)
        answer = twinrun(*words(line), cwd=tmp_path, env={"MLFLOW_NOTES": "notes"})
        if title == "TensorBoard" and find_spec("tensorboard") is None:
            assert "TensorBoard is not installed here" in answer.err
            continue
        assert answer.code == 0 and f"\nlogged to {title}: " in f"\n{answer.err}", f"{line}\n{answer.err}"


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
