"""A failure in twinrun.pipelines never reaches `check`."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinrun as package
from support import python, twinrun, write

SOURCE = Path(package.__file__).parent
PROGRAM = """
    import tensorflow as tf

    weight = tf.Variable([[0.5], [0.25]])
    rows = tf.random.stateless_uniform([32, 2], seed=(1, 2))
    data = tf.data.Dataset.from_tensor_slices(rows)
    data = data.shuffle(32)
    for batch in data.batch(8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ weight - 1.0) ** 2)
        weight.assign_sub(0.05 * tape.gradient(loss, weight))
"""
LINE = 1 + [line.strip() for line in PROGRAM.splitlines()].index("data = data.shuffle(32)")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of Twinrun in which every import of twinrun.pipelines raises."""
    folder = tmp_path_factory.mktemp("broken")
    ignored = shutil.ignore_patterns("__pycache__", "pipelines")
    shutil.copytree(SOURCE, folder / "twinrun", ignore=ignored)
    (folder / "twinrun" / "pipelines").mkdir()
    (folder / "twinrun" / "pipelines" / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
    return folder


@pytest.mark.slow
def test_check_finds_divergence_and_its_cause_when_pipelines_cannot_be_imported(
    broken: Path, tmp_path: Path
) -> None:
    assert "broken on purpose" in python("-c", "import twinrun.pipelines", PYTHONPATH=str(broken)).err
    program = write(tmp_path, PROGRAM)
    answer = twinrun("check", "--output-format", "json", program, env={"PYTHONPATH": str(broken)})
    assert answer.code == 1, answer.err
    found = answer.document
    assert found["verdict"] == "diverges"
    assert [(one["code"], one["line"], one["confirmed"]) for one in found["findings"]] == [
        ("TW201", LINE, True)
    ]


def test_an_audit_still_reads_the_source_when_pipelines_cannot_be_imported(
    broken: Path, tmp_path: Path
) -> None:
    program = write(tmp_path, PROGRAM)
    answer = twinrun("audit", "--output-format", "json", program, env={"PYTHONPATH": str(broken)})
    assert "Traceback" not in answer.err
    found = answer.document
    assert (answer.code, [one["code"] for one in found["findings"]]) == (1, ["TW201"])
    assert found["notes"] == ["the input pipelines could not be audited: RuntimeError: broken on purpose"]


def test_without_findings_in_the_source_an_audit_that_failed_is_undecided(
    broken: Path, tmp_path: Path
) -> None:
    program = write(tmp_path, PROGRAM.replace("shuffle(32)", "shuffle(32, seed=1)"))
    answer = twinrun("audit", program, env={"PYTHONPATH": str(broken)})
    assert (answer.code, "Traceback" in answer.err) == (2, False)
    assert (
        "undecided: the input pipelines could not be audited: RuntimeError: broken on purpose" in answer.out
    )


@pytest.mark.parametrize(
    ("where", "note"),
    [
        ("def audit_dataset(", "an input could not be audited: RuntimeError: broken on purpose"),
        ("def report(", "the input pipelines could not be audited: RuntimeError: broken on purpose"),
    ],
)
def test_a_failure_in_the_middle_of_an_audit_is_a_note_beside_what_the_source_shows(
    where: str, note: str, tmp_path: Path
) -> None:
    shutil.copytree(SOURCE, tmp_path / "twinrun", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (tmp_path / "twinrun" / "pipelines").glob("*.py"):
        lines = file.read_text().splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line.strip().startswith(where):
                indent = " " * (len(line) - len(line.lstrip()) + 4)
                lines.insert(number + 1, f"{indent}raise RuntimeError('broken on purpose')\n")
                file.write_text("".join(lines))
                break
    answer = twinrun("audit", write(tmp_path, PROGRAM), env={"PYTHONPATH": str(tmp_path)})
    assert (answer.code, "Traceback" in answer.err) == (1, False), answer.err
    assert "TW201" in answer.out and f"note: {note}" in answer.out


def test_nothing_outside_imports_pipelines_before_it_is_asked_to_audit_data() -> None:
    files = [file for file in SOURCE.rglob("*.py") if SOURCE / "pipelines" not in file.parents]
    assert len(files) > 100
    eager = [file for file in files if any("pipelines" in name for name in _imported(file))]
    assert eager == []


def _imported(file: Path) -> Iterator[str]:
    """What a file imports from Twinrun when it is itself imported."""
    waiting: list[ast.AST] = [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("twinrun."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("twinrun"):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
