"""Notebooks in real twins: cells run as in Jupyter, and what is found is found in a cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from written import code, text, write_notebook

from support import LIBRARIES, PLAIN, outputs, twinrun, write
from twinrun.render import rendered
from twinrun.result import CheckResult

pytestmark = pytest.mark.usefixtures("tinynet")

# Everything that only IPython understands, and what a script would print nothing of.
AS_IN_JUPYTER = (
    text("# Title"),
    "%matplotlib inline\nimport sys, os\nimport matplotlib.pyplot as plt\nimport helper",
    "!echo by the shell\nwords = !echo one two\nwords[0]",
    "import asyncio\nasync def late():\n    await asyncio.sleep(0)\n    return 'awaited'\nawait late()",
    "display(_, In[2].splitlines()[-1])\nplt.plot([1, 2])\nplt.show();",
    "%%capture kept\nprint('captured')",
    "%time kept.stdout",
    "%%bash\necho by bash",
    "ls *.txt",
    code("raise ValueError('as announced')", "raises-exception"),
    "import inspect\ndef function(): return 1\ninspect.getsource(function)",
    "[__name__, sys.path[0], os.path.basename(os.getcwd()), sys.argv[1:], '__file__' in globals()]",
    "%timeit 1\nimport twinrun\ntwinrun.probe('x', [1.0])\nexit()",
    "print('never')",
)
PRINTED = """\
by the shell
Out[2]: 'one two'
Out[3]: 'awaited'
'awaited'
'words[0]'
<Figure size 640x480 with 1 Axes>
Out[6]: 'captured\\n'
by bash
only.txt
Out[10]: 'def function(): return 1\\n'
Out[11]: ['__main__', '', 'notebooks', ['--fast'], False]
"""


def test_cells_run_as_in_jupyter(tmp_path: Path) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    write(folder, "", "helper.py")
    write(folder, "", "only.txt")
    write_notebook(folder, *AS_IN_JUPYTER)
    path = f"{LIBRARIES}:{tmp_path}"
    words = ("check", "--output-format", "json", "--detail", "notebooks/analysis.ipynb", "--fast")
    answer = twinrun(*words, cwd=tmp_path, env={"PYTHONPATH": path, "MPLBACKEND": None, "SHELL": "/bin/sh"})
    assert answer.code == 0, answer.out + answer.err
    assert outputs(answer.document) == [PRINTED, PRINTED]
    assert answer.document["notes"] == [
        "skipped cell 12, line 1: %timeit 1 (it runs as often as the clock decides)"
    ]
    assert "analysis.ipynb" in answer.document["environment"]["facts"]["code"]["sources"]


DIVERGES = (
    text("# Train"),
    PLAIN,
    "import random\nnoise = [1.0]",
    "%%time\n# as long as it takes\ntrain(3, batch=lambda step, x: x * random.random())",
    "noise",
)


def test_a_finding_names_the_cell_in_every_format(tmp_path: Path) -> None:
    write_notebook(tmp_path, *DIVERGES)
    answer = twinrun("check", "--output-format", "json", "-o", "result.json", "analysis.ipynb", cwd=tmp_path)
    assert answer.code == 1, answer.err
    document = json.loads((tmp_path / "result.json").read_text())
    finding = document["findings"][0]
    line = "train(3, batch=lambda step, x: x * random.random())"
    assert [finding[name] for name in ("code", "confirmed", "file", "cell", "line")] == [
        "TW101",
        True,
        "analysis.ipynb",
        3,
        3,
    ]
    assert {"number": 3, "text": line} in finding["source"]
    assert finding["fix"].endswith("+ random.seed(42)")
    row = (tmp_path / "analysis.ipynb").read_text().splitlines()[finding["file_line"] - 1]
    assert line in row

    results = [("", CheckResult.from_json(document))]
    assert f"  --> analysis.ipynb, cell 3, line 3\n      3 | {line}\n" in rendered(results, "text")
    github = rendered(results, "github")
    assert (
        f"::error file=analysis.ipynb,line={finding['file_line']}," in github and "cell 3, line 3" in github
    )
    assert "analysis.ipynb, cell 3, line 3" in rendered(results, "html")
    (place,) = json.loads(rendered(results, "sarif"))["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": finding["file_line"]}
    assert place["logicalLocations"][0]["name"] == "cell 3, line 3"
    # The command of an experiment finds the line again.
    (freeze,) = next(each for each in document["experiments"] if each["verdict"] == "repeats")[
        "interventions"
    ]
    again = twinrun("check", "--no-diagnose", *freeze.split(" ", 1), "analysis.ipynb", cwd=tmp_path)
    assert again.code == 0, again.out + again.err


def test_an_error_is_shown_with_its_cell(tmp_path: Path) -> None:
    write_notebook(tmp_path, "def fail():\n    return 1 / 0", "x = 1\n\nfail()", "print('never')")
    answer = twinrun("run", "analysis.ipynb", cwd=tmp_path)
    assert answer.code == 1
    assert "never" not in answer.err and "IPython" not in answer.err and "run_notebook" not in answer.err
    assert 'File "analysis.ipynb, cell 2", line 3, in <module>' in answer.err
    assert 'File "analysis.ipynb, cell 1", line 2, in fail' in answer.err


def test_a_cell_that_is_no_python_is_an_error_of_its_cell(tmp_path: Path) -> None:
    write_notebook(tmp_path, "x = 1", "y = 1\ny = = 2", "z = 1")
    read = twinrun("audit", "--source-only", "analysis.ipynb", cwd=tmp_path)
    assert read.code == 2 and "undecided: analysis.ipynb, cell 2, line 2: syntax error" in read.out
    run = twinrun("check", "analysis.ipynb", cwd=tmp_path)
    assert run.code == 2 and 'File "analysis.ipynb, cell 2", line 2' in run.out, run.out


CLEAN_AND_NOT = (
    "import numpy as np\nimport tensorflow as tf",
    "!pip install keras\nx = np.random.rand(8, 2)",
    "%%time\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, x)",
)


def test_an_audit_reads_the_cells_of_one_notebook_and_of_a_folder(tmp_path: Path) -> None:
    write_notebook(tmp_path, *CLEAN_AND_NOT)
    for target in ("analysis.ipynb", "."):
        answer = twinrun("audit", "--source-only", "--output-format", "json", target, cwd=tmp_path)
        found = [(each["code"], each["cell"], each["line"]) for each in answer.document["findings"]]
        assert ("TW102", 2, 2) in found and ("TW105", 3, 2) in found, answer.out
        assert not any(
            ":" in line.partition("analysis.ipynb")[2][:1]
            for each in answer.document["findings"]
            for line in each["evidence"]
        )
    silent = "x = np.random.rand(8, 2)  # twinrun: ignore[TW102] a demonstration"
    write_notebook(tmp_path, CLEAN_AND_NOT[0], silent, CLEAN_AND_NOT[2])
    answer = twinrun("audit", "--source-only", "--output-format", "json", "analysis.ipynb", cwd=tmp_path)
    assert [(each["code"], each["cell"], each["line"]) for each in answer.document["silenced"]] == [
        ("TW102", 2, 1)
    ]


TO_FIX = (
    text("# Train"),
    "import numpy as np\nimport twinrun\n%pwd",
    "%%time\nrng = np.random.default_rng()\n%time x = rng.random(3)\nlen(x)",
    "twinrun.probe('x', x)",
)


def test_fix_proves_a_patch_and_writes_it_into_the_cell_alone(tmp_path: Path) -> None:
    path = write_notebook(tmp_path, *TO_FIX)
    before = path.read_bytes()
    answer = twinrun("fix", "--no-progress", "--write", "--force", "analysis.ipynb", cwd=tmp_path)
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.replace("\t\n", "\n") == (
        "--- a/analysis.ipynb, cell 2\n+++ b/analysis.ipynb, cell 2\n@@ -1,4 +1,4 @@\n %%time\n"
        "-rng = np.random.default_rng()\n+rng = np.random.default_rng(42)\n %time x = rng.random(3)\n len(x)\n"
    )
    assert answer.err.startswith(
        "TW103 analysis.ipynb, cell 2, line 2: give the generator a seed\nwith this patch, 2 runs"
    )
    assert path.read_bytes() == before.replace(b"default_rng()", b"default_rng(42)")


def test_a_notebook_that_trains_with_tensorflow_repeats(tmp_path: Path) -> None:
    """AutoGraph reads the source of a function of a cell."""
    write_notebook(
        tmp_path,
        "import tensorflow as tf\ntf.random.set_seed(1)\nweight = tf.Variable(tf.random.normal([2, 1]))",
        "@tf.function\ndef step(x):\n    with tf.GradientTape() as tape:\n        if tf.reduce_sum(x) > 0:\n            x = x + 1.0\n"
        "        loss = tf.reduce_mean((x @ weight - 1.0) ** 2)\n    weight.assign_sub(0.05 * tape.gradient(loss, weight))",
        "%%time\nfor number in range(3):\n    step(tf.ones([4, 2]) / (number + 1.0))",
        "weight",
    )
    answer = twinrun("check", "--no-diagnose", "analysis.ipynb", cwd=tmp_path)
    assert answer.code == 0 and "3 steps compared" in answer.out, answer.out + answer.err
