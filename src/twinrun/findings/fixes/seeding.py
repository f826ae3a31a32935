"""A missing seed (TW101, TW102, TW104, TW105): one seed call, right after the imports."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes import graph_seeds
from twinrun.findings.fixes.changes import SEED, Change, Draft, is_name, lines_after, taken_out
from twinrun.findings.fixes.imports import after_imports, last_leading_import
from twinrun.findings.fixes.module import Module, Spelling, Statement, Unsure, only_statement, require, sure
from twinrun.knowledge.functions import Kind, is_kind, root

KERAS = "keras.utils.set_random_seed"
# Ways to seed, the best first: the function, and the import that is needed where the module has no name for it.
_KERAS_WAYS = (
    (KERAS, None),
    (KERAS, "import keras"),  # where there is from keras import layers
    ("tf_keras.utils.set_random_seed", "import tf_keras"),
    ("tensorflow.keras.utils.set_random_seed", None),
    (KERAS, "from tensorflow import keras"),
)
_NUMPY_WAYS = (("numpy.random.seed", None), ("np.random.seed", "import numpy as np"))
_PYTHON_WAYS = (("random.seed", None), ("random.seed", "import random"))


def python_random(module: Module, line: int) -> Draft:
    """Seed Python's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "random.seed", *_KERAS_WAYS, *_PYTHON_WAYS)


def numpy_random(module: Module, line: int) -> Draft:
    """Seed NumPy's global stream, with everything else when Keras is there."""
    return _seeded(module, line, "numpy.random.seed", *_KERAS_WAYS, *_NUMPY_WAYS)


def tensorflow_random(module: Module, line: int) -> Draft:
    """Set TensorFlow's global seed, and with it Keras', Python's and NumPy's; in a graph, the graph's own."""
    if graph_seeds.builds_graphs(module, line):
        return graph_seeds.seeded(module, line, _seed_of(module))
    return _seeded(module, line, "tensorflow.random.set_seed", *_KERAS_WAYS)


def keras_random(module: Module, line: int) -> Draft:
    """Seed what Keras draws from, and with it everything else."""
    return _seeded(module, line, KERAS, *_KERAS_WAYS)


def reseeding_removed(module: Module, line: int) -> Draft:
    """`np.random.seed()` without a number throws the seed away: the line goes, if there is a seed to keep."""
    statement = module.statement_at(line)
    small = only_statement(statement)
    if not isinstance(statement, cst.SimpleStatementLine) or not isinstance(small, cst.Expr):
        raise Unsure
    seeded = {module.name(each) for each in _seed_calls(module) if not _is_empty(each)}
    empty = [each for each in _seed_calls(module) if each is small.value and _is_empty(each)]
    require(empty and seeded & {module.name(small.value), KERAS})
    note = "keep the seed that was set"
    if len(getattr(module.parent[statement], "body", ())) == 1:
        return Draft((Change(small, lambda _: cst.Pass()),), note, safe=True)
    require(statement.trailing_whitespace.comment is None)
    comments = [each for each in statement.leading_lines if each.comment is not None]
    return Draft(taken_out(module, [statement], comments), note, safe=True)


def _seed_calls(module: Module) -> list[cst.Call]:
    return [call for call in module.find(cst.Call) if is_kind(module.name(call), Kind.SEED)]


def _is_empty(call: cst.Call) -> bool:
    return all(is_name(arg.value, "None") and arg.keyword is None for arg in call.args)


def _seeded(module: Module, line: int, own_seeder: str, *ways: tuple[str, str | None]) -> Draft:
    present = {module.name(call) for call in _seed_calls(module)}
    # Where it is seeded already, the seed comes too late or is undone, and is not missing.
    require(module.is_program and not present & {KERAS, own_seeder})
    possible = ((spelling, way[1]) for way in ways if (spelling := _spelled(module, *way)))
    (function, behind), new_import = sure(next(possible, None))
    call = f"{function}({_seed_of(module)})"
    what = "everything" if function.endswith("set_random_seed") else "the stream"
    note = f"seed {what} once, right after the imports"
    if module.function(behind) is not None:
        return _in_function(module, line, behind, call, note)
    return Draft(after_imports(module, behind, new_import, call, before_line=line), note, safe=True)


def _spelled(module: Module, function: str, new_import: str | None) -> Spelling | None:
    if new_import is None:
        return module.spelled(function)
    package = new_import.split()[1]
    behind = [each.statement for each in module.imports if root(each.dotted) == package]
    return Spelling(function, behind[0]) if behind and module.is_free(root(function)) else None


def _in_function(module: Module, line: int, imported: Statement, call: str, note: str) -> Draft:
    """The library is imported inside a function: seed behind that import, when the finding is there too."""
    function = module.owner(imported)
    if not isinstance(function, cst.FunctionDef):
        raise Unsure
    anchor = last_leading_import(module, function.body.body, imported)
    require(module.last_line(anchor) < line <= module.last_line(function))
    note = f"{note}; it is called each time {function.name.value}() is"
    return Draft(lines_after(module, anchor, call), note, safe=False)


def _seed_of(module: Module) -> int:
    """The number the program already seeds other streams with, or 42."""
    for call in _seed_calls(module):
        value = call.args[0].value if call.args else None
        values = module.assigned_to(value) if isinstance(value, cst.Name) else []
        value = values[-1] if values else value
        if isinstance(value, cst.Integer) and value.evaluated_value < 2**32:
            return value.evaluated_value
    return SEED
