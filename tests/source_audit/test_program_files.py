"""Which files belong to a program, and that nothing in them can stop the audit."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from twinrun.source_audit import follow
from twinrun.source_audit.audit import audit_source
from twinrun.source_audit.program_files import Sources, absolute, dotted_name, python_files


def test_relative_imports_start_from_the_package() -> None:
    assert absolute("pack.inner", "mod", 1) == "pack.inner.mod"
    assert absolute("pack.inner", None, 2) == "pack"
    assert absolute("pack.inner", "mod", 0) == "mod"


def test_a_file_in_a_package_is_named_with_its_packages(tmp_path: Path) -> None:
    inner = tmp_path / "pack" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    assert dotted_name(inner / "mod.py") == "pack.inner.mod"
    assert dotted_name(inner / "__init__.py") == "pack.inner"
    assert dotted_name(tmp_path / "train.py") == "train"


def test_environments_caches_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.py", "b/c.py", ".hidden/d.py", "env/x.py", "__pycache__/e.py", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert [path.relative_to(tmp_path).as_posix() for path in python_files(tmp_path)] == ["a.py", "b/c.py"]


def test_modules_that_are_not_the_programs_own_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import json\nimport helper\nimport missing\nfrom pack import thing\n")
    (tmp_path / "helper.py").write_text("import train\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "thing.py").write_text("from pack import thing\n")
    read = [Path(file).name for file in audit_source([tmp_path / "train.py"]).files_read]
    assert read == ["helper.py", "thing.py", "train.py"]


def test_a_neighbour_of_the_package_is_not_the_programs_own(tmp_path: Path) -> None:
    for name in ("site/keras/__init__.py", "site/numpy/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("import numpy\nimport keras\n")
    read = audit_source([tmp_path / "site" / "keras"]).files_read
    assert [Path(file).parent.name for file in read] == ["keras"]


def test_a_broken_module_is_a_problem_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(
        "import tensorflow as tf\nimport broken\nds = tf.data.Dataset.range(9).shuffle(9)\n"
    )
    Path("broken.py").write_text("def f(:\n")
    audit = audit_source(["train.py"])
    assert [(each.code, each.line) for each in audit.findings] == [("TW201", 3)]
    assert [(problem.file, problem.line) for problem in audit.problems] == [("broken.py", 1)]


def test_a_program_that_never_ends_growing_is_followed_within_bounds(tmp_path: Path) -> None:
    deep = "x = " + "(" * 80 + "1" + ")" * 80
    calls = "\n".join(f"def f{n}(x):\n    return f{n + 1}(f{n + 1}(f{n + 1}(x)))" for n in range(60))
    loops = "".join("    " * n + f"for i{n} in range(9):\n" for n in range(15)) + "    " * 15 + "f0(1)\n"
    self_holding = "a = []\na.append(a)\nprint(a, [a])\nd = {}\nd['d'] = d\nmap(d, a)\n"
    path = tmp_path / "grow.py"
    path.write_text(f"import keras\n{deep}\n{calls}\ndef f60(x):\n    return f0(x)\n{self_holding}{loops}")
    audit = audit_source([path])
    assert not audit.findings
    assert all("too large" in problem.reason for problem in audit.problems)


@pytest.mark.parametrize("package", [asyncio, json], ids=lambda package: package.__name__)
def test_following_real_packages_makes_no_mistake_of_its_own(package: object) -> None:
    sources, world = Sources(), None
    for path in python_files(Path(str(package.__file__)).parent):  # type: ignore[attr-defined]
        module = sources.read(path)
        assert module is not None
        world = follow.follow_library(sources, module, world)
    assert world is not None
    assert not world.problems
    assert world.work > 1_000
