"""A missing seed (TW101, TW102, TW104, TW105): one seed call, right after the imports."""

from __future__ import annotations

import ast

from twinrun.findings.fixes import graph_seeds
from twinrun.findings.fixes.arguments import is_none
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.imports import after_imports, last_leading_import
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.names import Import

SEED = 42
KERAS = "keras.utils.set_random_seed"
SEEDERS = {KERAS, "tensorflow.random.set_seed", "numpy.random.seed", "random.seed"}


def python_random(module: Module, line: int) -> Draft | None:
    """Seed Python's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "random", "random.seed")


def numpy_random(module: Module, line: int) -> Draft | None:
    """Seed NumPy's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "numpy", "numpy.random.seed")


def unseeding_taken_out(module: Module, line: int) -> Draft | None:
    """`np.random.seed()` without a number throws the seed away: the line goes, if there is a seed to keep."""
    statement = module.statement_at(line)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    seeded = {module.names.called(each) for each in seed_calls(module) if each.args or each.keywords}
    name = module.names.called(call)
    empty = name in SEEDERS and not call.keywords and all(is_none(argument) for argument in call.args)
    if not empty or not seeded & {name, KERAS} or module.indent(statement) is None:
        return None
    block = module.parent[statement]
    if any(getattr(block, part, None) == [statement] for part in ("body", "orelse", "finalbody")):
        return Draft((module.replace(statement, "pass"),), "keep the seed that was set", safe=True)
    start, end = module.line_start(statement.lineno), module.line_start((statement.end_lineno or 0) + 1)
    if module.source[module.end(statement) : end].strip():
        return None  # a comment or another statement stands behind it
    return Draft((Edit(start, end, ""),), "keep the seed that was set", safe=True)


def tensorflow_random(module: Module, line: int) -> Draft | None:
    """Set TensorFlow's global seed, and with it Keras', Python's and NumPy's; in a graph, the graph's own."""
    if graph_seeds.builds_graphs(module, line):
        return graph_seeds.seeded(module, line, _seed_of(module))
    return _seeded(module, line, None, "tensorflow.random.set_seed")


def keras_random(module: Module, line: int) -> Draft | None:
    """Seed what Keras draws from, and with it everything else."""
    return _seeded(module, line, None, KERAS)


def seed_calls(module: Module) -> list[ast.Call]:
    """The calls in the module that set a global seed."""
    return [call for call in module.calls() if module.names.called(call) in SEEDERS]


def _seeded(module: Module, line: int, library: str | None, own_seeder: str) -> Draft | None:
    present = {module.names.called(call) for call in seed_calls(module)}
    if not module.is_program or present & {KERAS, own_seeder}:
        return None  # seeded already: then it is too late, or undone, and not missing
    way = _keras_way(module) or (_library_way(module, library) if library else None)
    if way is None:
        return None
    imported, new_import, call = way
    call = f"{call}({_seed_of(module)})"
    what = "everything" if KERAS.rpartition(".")[2] in call else "the stream"
    note = f"seed {what} once, right after the imports"
    if imported is not None and module.function(imported) is not None:
        return _in_function(module, line, imported, call, note)
    edits = after_imports(module, imported, new_import, call, before_line=line)
    return None if edits is None else Draft(edits, note, safe=True)


def _keras_way(module: Module) -> tuple[ast.stmt | None, str | None, str] | None:
    """How to call Keras' seed function here: the import to stand behind, an import to add, the call."""
    for dotted, rest in (
        (KERAS, ""),
        ("keras.utils", ".set_random_seed"),
        ("keras", ".utils.set_random_seed"),
    ):
        if found := _best(module, dotted):
            return found.node, None, found.local + rest
    packages = {each.dotted.partition(".")[0]: each.node for each in reversed(module.names.imports)}
    for package in ("keras", "tf_keras"):  # from keras import layers: Keras itself has no name yet
        if package in packages and module.names.free(package) == package:
            return packages[package], f"import {package}", f"{package}.utils.set_random_seed"
    if found := _best(module, "tensorflow"):
        return found.node, None, f"{found.local}.keras.utils.set_random_seed"
    if "tensorflow" in packages and module.names.free("keras") == "keras":
        return packages["tensorflow"], "from tensorflow import keras", "keras.utils.set_random_seed"
    return None


def _library_way(module: Module, library: str) -> tuple[ast.stmt | None, str | None, str] | None:
    if library == "numpy" and (found := _best(module, "numpy.random")):
        return found.node, None, f"{found.local}.seed"
    middle = ".random" if library == "numpy" else ""
    if found := _best(module, library):
        return found.node, None, f"{found.local}{middle}.seed"
    name = "np" if library == "numpy" else "random"
    for each in module.names.imports:  # from random import shuffle
        if each.dotted.partition(".")[0] == library and module.names.free(name) == name:
            line = "import numpy as np" if library == "numpy" else "import random"
            return each.node, line, f"{name}{middle}.seed"
    return None


def _best(module: Module, dotted: str) -> Import | None:
    """The import of this name at the top of the module, or else one in a function."""
    found = module.names.given_by(dotted)
    return min(found, key=lambda each: module.function(each.node) is not None, default=None)


def _in_function(module: Module, line: int, imported: ast.stmt, call: str, note: str) -> Draft | None:
    """The library is imported inside a function: seed behind that import, when the finding is there too."""
    function = module.function(imported)
    if not isinstance(function, ast.FunctionDef) or module.parent[imported] is not function:
        return None
    if not function.lineno <= line <= (function.end_lineno or function.lineno):
        return None
    anchor = last_leading_import(module, function.body, imported)
    indent = module.indent(anchor)
    edit = None if indent is None else module.insert_line_after(anchor, call, indent)
    if edit is None or (anchor.end_lineno or 0) >= line:
        return None
    return Draft((edit,), f"{note}; it is called each time {function.name}() is", safe=False)


def _seed_of(module: Module) -> int:
    """The number the program already seeds other streams with, or 42."""
    constants = {
        target.id: node.value.value
        for node in module.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in seed_calls(module):
        value: object = None
        if call.args and isinstance(call.args[0], ast.Constant):
            value = call.args[0].value
        elif call.args and isinstance(call.args[0], ast.Name):
            value = constants.get(call.args[0].id)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32:
            return value
    return SEED
