"""`%%twinrun` in a real Jupyter kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from support import PLAIN, environment, write
from twinrun import magic
from twinrun.cli.options import project_table
from twinrun.errors import UsageError
from twinrun.launch import interventions
from twinrun.launch.program import Program
from twinrun.settings import check_options

pytestmark = pytest.mark.usefixtures("tinynet")


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *cells: str) -> list[str]:
    """What a reader of the notebook sees below each cell."""
    wanted = environment(IPYTHONDIR=str(folder / "ipython"))
    for name in set(os.environ) - set(wanted):
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    settings: dict[str, Any] = {"timeout": 120, "kernel_name": "python3", "allow_errors": True}
    NotebookClient(book, resources={"metadata": {"path": str(folder)}}, **settings).execute()
    return ["".join(map(_shown, cell.outputs)) for cell in book.cells]


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.get("data", {}).get("text/html") or output.get("data") or output.get("evalue"))


def test_a_cell_is_checked_in_fresh_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, _, _, diverges, alone, failed, together, slip, value = run(
        tmp_path,
        monkeypatch,
        "%load_ext twinrun",
        PLAIN.strip(),
        "import random",
        f"%%twinrun\nimport random\n{PLAIN}\ntrain(2, batch=lambda step, x: x * random.random())",
        "%%twinrun --no-diagnose\ntrain(2)",
        "train(2)\n1 / 0",
        "%%twinrun --no-diagnose --earlier\ntrain(2)",
        "%%twinrun --step 3\ntrain(2)",
        "_.verdict, _.steps_compared",
    )
    assert loaded == ""
    assert "checking cell 4 in fresh processes\n" in diverges and "looking for the cause\n" in diverges
    assert "<pre>diverges at step 1, phase batch" in diverges
    line = len(f"%%twinrun\nimport random\n{PLAIN}\n".splitlines()) + 1
    assert f"--&gt; this notebook, cell 4, line {line}\n      {line} | train(2, batch=lambda" in diverges
    assert "NameError: name &#x27;train&#x27; is not defined" in alone
    assert (
        "train is a name of this notebook, and the cell ran in a fresh process that sees none of them"
        in alone
    )
    assert "%%twinrun --earlier" in alone
    assert failed == "division by zero"
    assert "<pre>repeats: 2 runs, 2 steps compared" in together
    assert "note: not run, as they raised an error: cells 6\n" in f"{together}\n".replace("</pre>", "")
    assert slip == "error: unknown option --step\nhint: did you mean --steps? See `%%twinrun --help`\n"
    assert value == "{'text/plain': \"('repeats', 2)\"}"
    assert list(tmp_path.glob(".twinrun-*")) == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    project_table.cache_clear()
    yield tmp_path
    project_table.cache_clear()


def test_a_setting_of_check_that_means_nothing_in_a_cell_is_no_error(project: Path) -> None:
    write(
        project, "[tool.twinrun.check]\nverbose = true\nhtml = 'report.html'\nsteps = 7\n", "pyproject.toml"
    )
    given = magic._given("--runs 3")
    assert (given["steps"], given["runs"]) == (7, 3) and "verbose" not in given
    project_table.cache_clear()
    write(project, "[tool.twinrun.check]\nstepz = 7\n", "pyproject.toml")
    with pytest.raises(UsageError, match="unknown option 'stepz'"):
        magic._given("")


@pytest.mark.parametrize(
    ("line", "contract"),
    [
        ("--devices cpu,gpu", "rtol=auto,atol=auto"),
        ("--devices cpu,gpu --contract ulp=4", "ulp=4"),
        ("", "bitwise"),
    ],
)
def test_a_cell_on_two_devices_has_the_contract_of_a_check(
    project: Path, monkeypatch: pytest.MonkeyPatch, line: str, contract: str
) -> None:
    monkeypatch.setattr(interventions, "device_environment", lambda name: {})  # as if there were a GPU
    given = magic._given(line)
    kept = {name: value for name, value in given.items() if name in magic.CHECKED}
    assert str(check_options(Program("nb.ipynb"), **kept).contract) == contract
