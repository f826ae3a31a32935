"""A notebook as one Python text, and back: nothing is run."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import as_bytes, code, notebook, text, write_notebook

from support import twinrun
from twinrun.errors import BadNotebook
from twinrun.findings.fixes import as_patch
from twinrun.notebooks.notebook import Notebook
from twinrun.notebooks.places import by_cells, line_of_text, place_in_text

CELLS = (
    "import numpy as np\n\nx = 1",
    text("# Words"),
    "%matplotlib inline\nnp.random.rand()",
    "  \n",
    "print(x)",
)


def test_cells_are_numbered_as_jupyter_numbers_them_and_keep_their_lines() -> None:
    book = Notebook(as_bytes(notebook(*CELLS)))
    assert [(cell.number, cell.lines[0]) for cell in book.cells] == [
        (1, "import numpy as np"),
        (2, "%matplotlib inline"),
        (3, "print(x)"),
    ]
    rows = book.file.split("\n")
    for cell in book.cells:
        for number, line in enumerate(cell.lines, start=1):
            flat = line_of_text(book.text, cell.number, number)
            place = book.place(flat)
            assert place is not None and (place.cell, place.line) == (cell.number, number)
            assert place_in_text(book.text, flat) == (cell.number, number)
            assert json.dumps(line)[1:-1] in rows[(place.file_line or 0) - 1]


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%time fit(x)", "fit(x)"),
        ("y = %time fit(x)", "y = fit(x)"),
        ("for i in x:\n    %timeit i", "for i in x:\n    pass  # %timeit i"),
        ("t = %timeit -o f()", "t = None  # t = %timeit -o f()"),
        ("!pip install keras", "pass  # !pip install keras"),
        ("pip install keras", "pass  # pip install keras"),
        ("%conda install -y keras", "pass  # %conda install -y keras"),
        ("!pip list", "get_ipython().system('pip list')"),
        ("files = !ls *.csv", "files = get_ipython().getoutput('ls *.csv')"),
        ("np.sum?", "pass  # np.sum?"),
        ("%%time\ny = 1", "# %%time\ny = 1"),
        ("%%bash\necho a", "# %%bash\n# echo a"),
        ("%%timeit\nf()", "# %%timeit\n# f()"),
        ("!echo a \\\n  b\nx = 1", "get_ipython().system('echo a    b')\n#   b\nx = 1"),
        (">>> x = 1\n... ", "x = 1\n"),
        ("\n\n%matplotlib inline", "\n\nget_ipython().run_line_magic('matplotlib', 'inline')"),
        ("text = '''\n%time\n!ls\n'''", "text = '''\n%time\n!ls\n'''"),
    ],
)
def test_what_is_not_python_becomes_python_in_as_many_lines(source: str, python: str) -> None:
    (cell,) = Notebook(as_bytes(notebook(source))).cells
    assert cell.translation.python == python
    assert len(python.split("\n")) == len(source.split("\n"))
    ast.parse(python)


def test_what_is_not_run_is_named_with_its_place_and_the_reason() -> None:
    book = Notebook(
        as_bytes(notebook("x = 1\n!pip install keras", "%%timeit\nf()", "%load_ext twinrun", "%%twinrun\nx"))
    )
    assert book.skipped == (
        "skipped cell 1, line 2: !pip install keras (it changes the environment)",
        "skipped cell 2, line 1: %%timeit (it runs as often as the clock decides)",
        "skipped cell 3, line 1: %load_ext twinrun (a check runs no other check)",
        "skipped cell 4, line 1: %%twinrun (a check runs no other check)",
    )


def one_string(document: dict[str, Any]) -> bytes:
    cells = [{**cell, "source": "".join(cell["source"])} for cell in document["cells"]]
    return as_bytes({**document, "cells": cells})


LAYOUTS = {
    "as Jupyter writes it": as_bytes,
    "on one line": lambda document: json.dumps(document, separators=(",", ":")).encode(),
    "escaped, by four": lambda document: json.dumps(document, indent=4, sort_keys=True).encode(),
    "with cells of one string": one_string,
    "with lines that end as on Windows": lambda document: as_bytes(document).replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_change_of_one_cell_leaves_every_other_byte(layout: str) -> None:
    before = LAYOUTS[layout](notebook("'ä'\nx = 1", "y = 2  # ü\nz = 3", "w = 4"))
    book = Notebook(before)
    assert book.with_text(book.text) == before
    after = book.with_text(book.text.replace("z = 3", "z = 33\nv = 5"))
    assert [cell.source for cell in Notebook(after).cells] == [
        "'ä'\nx = 1",
        "y = 2  # ü\nz = 33\nv = 5",
        "w = 4",
    ]
    start, end = book.cells[1].stands.start, book.cells[1].stands.end
    prefix, suffix = book.file[:start].encode(), book.file[end:].encode()
    assert after.startswith(prefix) and after.endswith(suffix)
    if layout == "as Jupyter writes it":
        assert after == as_bytes(notebook("'ä'\nx = 1", "y = 2  # ü\nz = 33\nv = 5", "w = 4"))


def test_a_magic_stays_where_a_line_is_added_behind_it_and_others_read_the_same() -> None:
    book = Notebook(as_bytes(notebook("x = 1\n%time y = 2\nx = 1\n%time y = 2\nx = 1")))
    changed = Notebook(book.with_text(book.text.replace("y = 2\n", "y = 2\nadded = 1\n", 1)))
    assert changed.cells[0].source == "x = 1\n%time y = 2\nadded = 1\nx = 1\n%time y = 2\nx = 1"


LINES = st.lists(
    st.sampled_from(["x = 1", "", "%time y = 2", "!ls \\\n -l", "# é", "  ", "pass"]), min_size=1, max_size=6
)


@given(st.lists(LINES.map("\n".join), min_size=1, max_size=5), st.data())
def test_a_line_added_anywhere_goes_to_the_cell_that_it_was_added_to(
    sources: list[str], data: st.DataObject
) -> None:
    book = Notebook(as_bytes(notebook(*sources, "last")))
    lines = book.text.split("\n")
    python = [
        n for n, line in enumerate(lines) if place_in_text(book.text, n + 1)[1] and not line.startswith("#  ")
    ]
    at = data.draw(st.sampled_from(python))
    cell, _ = place_in_text(book.text, at + 1)
    changed = Notebook(book.with_text("\n".join([*lines[:at], "added = 1", *lines[at:]])))
    for before, after in zip(book.cells, changed.cells, strict=True):
        if before.number != cell:
            assert before == after or before.source == after.source
        else:
            assert "added = 1" in after.lines
            rest = list(after.lines)
            rest.remove("added = 1")
            assert rest == before.lines or rest == before.source.rstrip("\n").split("\n")


def test_a_magic_in_front_of_a_changed_line_stays_and_others_are_not_overwritten() -> None:
    book = Notebook(as_bytes(notebook("%time x = draw()\n!ls")))
    changed = book.with_text(book.text.replace("draw()", "draw(seed=1)"))
    assert Notebook(changed).cells[0].source == "%time x = draw(seed=1)\n!ls"
    with pytest.raises(BadNotebook, match="cell 1, line 2 cannot be changed"):
        book.with_text(book.text.replace("get_ipython().system('ls')", "pass"))
    with pytest.raises(BadNotebook, match="be distinguished"):
        book.with_text("x = 1\n")


def test_a_patch_shows_the_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = Notebook(as_bytes(notebook("import random", "x = random.random()\nprint(x)  # ä")))
    after = book.with_text(
        book.text.replace("import random", "import random\nrandom.seed(1)").replace("ä", "ö")
    )
    patch = as_patch({str(tmp_path / "analysis.ipynb"): (book.file.encode(), after)}).decode()
    assert patch.replace("\t\n", "\n") == (
        "--- a/analysis.ipynb, cell 1\n+++ b/analysis.ipynb, cell 1\n@@ -1 +1,2 @@\n import random\n+random.seed(1)\n"
        "--- a/analysis.ipynb, cell 2\n+++ b/analysis.ipynb, cell 2\n@@ -1,2 +1,2 @@\n x = random.random()\n"
        "-print(x)  # ä\n+print(x)  # ö\n"
    )


def test_texts_name_places_by_their_cells_and_commands_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_notebook(tmp_path, "x = 1\ny = 2", "z = 3", name="my analysis.ipynb")
    said = by_cells("my analysis.ipynb")
    assert said("drawn at my analysis.ipynb:3") == "drawn at my analysis.ipynb, cell 1, line 2"
    assert said(f"{path}:5: UserWarning: x") == f"{path}, cell 2, line 1: UserWarning: x"
    assert said(f'  File "{path}", line 5, in f') == f'  File "{path}", cell 2, line 1, in f'
    for kept in (
        "--freeze numpy-random:my analysis.ipynb:3",
        "other.ipynb:3",
        f"time:{path}:3",
        "not my analysis.ipynb",
    ):
        assert said(kept) == kept


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "cannot be read as a notebook"),
        (b"\xff", "cannot be read as a notebook"),
        (b"[]", "cannot be read as a notebook"),
        (
            as_bytes({"worksheets": [], "nbformat": 3, "nbformat_minor": 0}),
            "it has format 3: open it in Jupyter",
        ),
        (as_bytes(notebook("1", metadata={"kernelspec": {"language": "R"}})), "is a notebook in R"),
        (
            as_bytes(notebook("1")).replace(b'"source"', b'"sauce"'),
            "cannot be read as a notebook: it is damaged",
        ),
        (b"[" * 100_000, "cannot be read as a notebook"),
    ],
)
def test_what_is_no_notebook_is_refused_in_words(content: bytes, said: str) -> None:
    with pytest.raises(BadNotebook) as refused:
        Notebook(content, "analysis.ipynb")
    assert refused.value.message.startswith("analysis.ipynb ") and said in refused.value.message


@pytest.mark.parametrize("verb", [["check"], ["audit"], ["audit", "--files"], ["fix"], ["run"]])
def test_a_notebook_without_code_is_never_called_clean(verb: list[str], tmp_path: Path) -> None:
    write_notebook(tmp_path, text("words"))
    answer = twinrun(*verb, "analysis.ipynb", cwd=tmp_path)
    assert (answer.code, answer.out, answer.message) == (2, "", "error: analysis.ipynb has no code cells\n")


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    write_notebook(tmp_path, "1")
    (tmp_path / "nbformat.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'nbformat'\", name='nbformat')\n"
    )
    for verb in ("check", "audit"):
        answer = twinrun(verb, "analysis.ipynb", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
        assert answer.code == 2
        assert answer.message == (
            'error: notebooks need nbformat, which is not installed\nhint: pip install "twinrun[notebook]"\n'
        )


def test_a_tagged_cell_may_fail() -> None:
    first, second = Notebook(as_bytes(notebook("1", code("2", "raises-exception")))).cells
    assert (first.may_fail, second.may_fail) == (False, True)
