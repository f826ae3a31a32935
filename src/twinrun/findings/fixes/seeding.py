"""A missing seed (TW101, TW102, TW104, TW105): one seed call, right after the imports."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from twinrun.findings.fixes import graph_seeds
from twinrun.findings.fixes.changes import Change, Draft, is_name, lines_after, taken_out
from twinrun.findings.fixes.imports import after_imports, last_leading_import
from twinrun.findings.fixes.module import Import, Module, Statement, only_statement
from twinrun.knowledge import Kind, is_kind, root

SEED = 42
KERAS = "keras.utils.set_random_seed"


class _Way(NamedTuple):
    """How to call a seed function here: the import to stand behind, an import to add, the function."""

    behind: Statement
    new_import: str | None
    function: str


def python_random(module: Module, line: int) -> Draft | None:
    """Seed Python's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "random", "random.seed")


def numpy_random(module: Module, line: int) -> Draft | None:
    """Seed NumPy's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "numpy", "numpy.random.seed")


def tensorflow_random(module: Module, line: int) -> Draft | None:
    """Set TensorFlow's global seed, and with it Keras', Python's and NumPy's; in a graph, the graph's own."""
    if graph_seeds.builds_graphs(module, line):
        return graph_seeds.seeded(module, line, _seed_of(module))
    return _seeded(module, line, None, "tensorflow.random.set_seed")


def keras_random(module: Module, line: int) -> Draft | None:
    """Seed what Keras draws from, and with it everything else."""
    return _seeded(module, line, None, KERAS)


def reseeding_removed(module: Module, line: int) -> Draft | None:
    """`np.random.seed()` without a number throws the seed away: the line goes, if there is a seed to keep."""
    statement = module.statement_at(line)
    small = only_statement(statement)
    call = small.value if isinstance(small, cst.Expr) else None
    if small is None or not isinstance(call, cst.Call) or not isinstance(statement, cst.SimpleStatementLine):
        return None
    seeded = {module.name(each) for each in _seed_calls(module) if not _is_empty(each)}
    if (
        not is_kind(module.name(call), Kind.SEED)
        or not _is_empty(call)
        or not seeded & {module.name(call), KERAS}
    ):
        return None
    note = "keep the seed that was set"
    if len(getattr(module.parent[statement], "body", ())) == 1:
        return Draft((Change(small, lambda _: cst.Pass()),), note, safe=True)
    if statement.trailing_whitespace.comment is not None:
        return None
    comments = [line for line in statement.leading_lines if line.comment is not None]
    return Draft(taken_out(module, [statement], comments), note, safe=True)


def _seed_calls(module: Module) -> list[cst.Call]:
    return [call for call in module.find(cst.Call) if is_kind(module.name(call), Kind.SEED)]


def _is_empty(call: cst.Call) -> bool:
    return all(is_name(arg.value, "None") and arg.keyword is None for arg in call.args)


def _seeded(module: Module, line: int, library: str | None, own_seeder: str) -> Draft | None:
    present = {module.name(call) for call in _seed_calls(module)}
    if not module.is_program or present & {KERAS, own_seeder}:
        return None  # seeded already: then it is too late, or undone, and not missing
    way = _keras_way(module) or (_library_way(module, library) if library else None)
    if way is None:
        return None
    call = f"{way.function}({_seed_of(module)})"
    what = "everything" if way.function.endswith("set_random_seed") else "the stream"
    note = f"seed {what} once, right after the imports"
    if module.function(way.behind) is not None:
        return _in_function(module, line, way.behind, call, note)
    changes = after_imports(module, way.behind, way.new_import, call, before_line=line)
    return None if changes is None else Draft(changes, note, safe=True)


def _keras_way(module: Module) -> _Way | None:
    for dotted, rest in (
        (KERAS, ""),
        ("keras.utils", ".set_random_seed"),
        ("keras", ".utils.set_random_seed"),
    ):
        if found := _best(module, dotted):
            return _Way(found.statement, None, found.local + rest)
    packages = {root(each.dotted): each.statement for each in reversed(module.imports)}
    for package in ("keras", "tf_keras"):  # from keras import layers: Keras itself has no name yet
        if package in packages and module.free(package) == package:
            return _Way(packages[package], f"import {package}", f"{package}.utils.set_random_seed")
    if found := _best(module, "tensorflow"):
        return _Way(found.statement, None, f"{found.local}.keras.utils.set_random_seed")
    if "tensorflow" in packages and module.free("keras") == "keras":
        line = "from tensorflow import keras"
        return _Way(packages["tensorflow"], line, "keras.utils.set_random_seed")
    return None


def _library_way(module: Module, library: str) -> _Way | None:
    middle, name, line = ("", "random", "import random")
    if library == "numpy":
        middle, name, line = (".random", "np", "import numpy as np")
        if found := _best(module, "numpy.random"):
            return _Way(found.statement, None, f"{found.local}.seed")
    if found := _best(module, library):
        return _Way(found.statement, None, f"{found.local}{middle}.seed")
    for each in module.imports:  # from random import shuffle
        if root(each.dotted) == library and module.free(name) == name:
            return _Way(each.statement, line, f"{name}{middle}.seed")
    return None


def _best(module: Module, dotted: str) -> Import | None:
    """The import of this name at the top of the module, or else one in a function."""
    found = module.given_by(dotted)
    return min(found, key=lambda each: module.function(each.statement) is not None, default=None)


def _in_function(module: Module, line: int, imported: Statement, call: str, note: str) -> Draft | None:
    """The library is imported inside a function: seed behind that import, when the finding is there too."""
    function = module.body_of(imported)
    if not isinstance(function, cst.FunctionDef) or not module.spans(function, line):
        return None
    anchor = last_leading_import(module, function.body.body, imported)
    changes = lines_after(module, anchor, call)
    if changes is None or module.last_line(anchor) >= line:
        return None
    return Draft(changes, f"{note}; it is called each time {function.name.value}() is", safe=False)


def _seed_of(module: Module) -> int:
    """The number the program already seeds other streams with, or 42."""
    for call in _seed_calls(module):
        value = call.args[0].value if call.args else None
        values = module.assigned_to(value) if isinstance(value, cst.Name) else []
        value = values[-1] if values else value
        if isinstance(value, cst.Integer) and value.evaluated_value < 2**32:
            return value.evaluated_value
    return SEED
