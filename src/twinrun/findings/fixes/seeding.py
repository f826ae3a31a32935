"""Seeds of the whole program: one that is missing (TW101, TW102, TW104, TW105), thrown away, or set too late (TW106).

A graph of TensorFlow 1 has a seed of its own, and no other reaches its ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Draft, is_name
from twinrun.findings.fixes.imports import IMPORTS, after_imports, last_leading_import
from twinrun.findings.fixes.module import (
    Module,
    Spelling,
    Statement,
    Unsure,
    called_name,
    only_statement,
    require,
    sure,
)
from twinrun.knowledge.functions import Kind, root

Ways: TypeAlias = Sequence[tuple[str, str | None]]
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
_TENSORFLOW = "tensorflow.random.set_seed"
_V1 = "tensorflow.compat.v1"
_SWITCHES = ("disable_eager_execution", "disable_v2_behavior")  # from there on, all is built into graphs


# -- missing ------------------------------------------------------------------------------------------


def _missing(seeder: str, ways: Ways, module: Module, line: int, *, anyway: bool = False) -> Draft:
    """One seed call right after the imports, for what `seeder` seeds; for everything, where Keras is there.

    `anyway`: with an import of its own, in a program that leaves the work to modules of its own.
    """
    present = {module.name(call) for call in module.calls(Kind.SEED)}
    # Where it is seeded already, the seed comes too late or is undone, and is not missing.
    require(module.is_program and not present & {KERAS, seeder})
    possible = ((spelling, way[1]) for way in ways if (spelling := _spelled(module, *way)))
    new = [(Spelling(way[0], None), way[1]) for way in ways if way[1] and module.is_free(root(way[0]))]
    # The last way is that of the stream itself; the first with an import, Keras'.
    last = new[:1] if seeder in (KERAS, _TENSORFLOW) else new[-1:]
    (function, behind), new_import = sure(next(chain(possible, last if anyway else ()), None))
    what = "everything" if function.endswith("set_random_seed") else "the stream"
    note = f"seed {what} once, right after the imports"
    if behind is not None and module.function(behind) is not None:
        return _in_function(module, line, behind, function, note)
    changes = after_imports(module, behind, new_import, function + "({seed})", before_line=line)
    return Draft(changes, note, safe=True)


python_random = partial(_missing, "random.seed", (*_KERAS_WAYS[:-1], *_PYTHON_WAYS))
numpy_random = partial(_missing, "numpy.random.seed", (*_KERAS_WAYS[:-1], *_NUMPY_WAYS))
keras_random = partial(_missing, KERAS, _KERAS_WAYS)


def tensorflow_random(module: Module, line: int, *, anyway: bool = False) -> Draft:
    """Set TensorFlow's global seed, and with it Keras', Python's and NumPy's; in a graph, the graph's own."""
    block, switch = _graph_block(module, line), _graph_switch(module, line)
    if block is None and switch is None:
        return _missing(_TENSORFLOW, _KERAS_WAYS, module, line, anyway=anyway)
    require(not any(_seeds_graph(module, call) for call in module.find(cst.Call)))
    if block is not None:
        function = sure(module.spelled(f"{_V1}.set_random_seed")).text
        changes = edit.lines_before(module, block.body.body[0], f"{function}({module.seed(block)})")
    else:
        func = cst.ensure_type(sure(switch).func, cst.Attribute)
        statement = sure(module.statement(func))
        text = f"{module.code(func.value)}.set_random_seed({module.seed(statement)})"
        changes = edit.lines_after(module, statement, text)
    note = "seed the graph before anything is built into it; no other seed reaches its ops"
    return Draft(changes, note, safe=True)


def shuffle_of_fit(module: Module, line: int) -> Draft:
    """Keras' `fit` takes no seed for the order of its data: it follows TensorFlow's."""
    require(any(called_name(call) == "fit" for call in module.calls_at(line)))
    return tensorflow_random(module, line)


def _spelled(module: Module, function: str, new_import: str | None) -> Spelling | None:
    if new_import is None:
        return module.spelled(function)
    package = new_import.split()[1]
    behind = [each.statement for each in module.imports if root(each.dotted) == package]
    return Spelling(function, behind[0]) if behind and module.is_free(root(function)) else None


def _in_function(module: Module, line: int, imported: Statement, seeder: str, note: str) -> Draft:
    """The library is imported inside a function: seed behind that import, when the finding is there too."""
    function = module.owner(imported)
    if not isinstance(function, cst.FunctionDef):
        raise Unsure
    anchor = last_leading_import(module, function.body.body, imported)
    require(module.last_line(anchor) < line <= module.last_line(function))
    once = function.name.value == "main"
    if not once:
        note = f"{note}; it is called each time {function.name.value}() is"
    call = f"{seeder}({module.seed(function)})"
    return Draft(edit.lines_after(module, anchor, call), note, safe=once)


def _graph_switch(module: Module, line: int) -> cst.Call | None:
    calls = [each for each in module.find(cst.Call) if isinstance(each.func, cst.Attribute)]
    above = (each for each in calls if module.name_line(each) < line)
    return next((call for call in above if called_name(call) in _SWITCHES), None)


def _graph_block(module: Module, line: int) -> cst.With | None:
    """The `with graph.as_default():` around the line; of a function, the only one that there is."""
    blocks = [node for node in module.find(cst.With) if any(map(_opens_graph, node.items))]
    statement = module.statement_at(line)
    in_function = statement is not None and module.function(statement) is not None
    around = [node for node in blocks if module.spans(node, line)]
    return next(iter(around or (blocks if in_function and len(blocks) == 1 else [])), None)


def _opens_graph(item: cst.WithItem) -> bool:
    return isinstance(item.item, cst.Call) and called_name(item.item) == "as_default"


def _seeds_graph(module: Module, call: cst.Call) -> bool:
    return called_name(call) == "set_random_seed" and not (module.name(call) or _V1).startswith("keras.")


# -- thrown away --------------------------------------------------------------------------------------


def reseeding_removed(module: Module, line: int) -> Draft:
    """`np.random.seed()` without a number throws the seed away: the line goes, if there is a seed to keep."""
    statement = module.statement_at(line)
    small = only_statement(statement)
    if not isinstance(statement, cst.SimpleStatementLine) or not isinstance(small, cst.Expr):
        raise Unsure
    seeds = module.calls(Kind.SEED)
    seeded = {module.name(each) for each in seeds if not _is_empty(each)}
    require(any(each is small.value and _is_empty(each) for each in seeds))
    require(seeded & {module.name(small.value), KERAS})
    note = "keep the seed that was set"
    if len(getattr(module.parent[statement], "body", ())) == 1:
        return Draft((Change(small, lambda _: cst.Pass()),), note, safe=True)
    require(statement.trailing_whitespace.comment is None)
    comments = [each for each in statement.leading_lines if each.comment is not None]
    return Draft(edit.taken_out(module, [statement], comments), note, safe=True)


def _is_empty(call: cst.Call) -> bool:
    return all(is_name(arg.value, "None") and arg.keyword is None for arg in call.args)


# -- too late -----------------------------------------------------------------------------------------


def moved_up(module: Module, line: int) -> Draft:
    """Move the seed call, with those right beside it, to just after the imports.

    The finding may stand at the early draw or at the late seed call. The seed call moves as far up as what it
    needs allows: the import of what it calls, and the last assignment of a name it uses.
    """
    # Only bodies that run once from top to bottom: functions, the innermost first, and the module.
    functions = [node.body for node in module.find(cst.FunctionDef) if module.spans(node, line)]
    owners: list[cst.BaseSuite | cst.Module] = [*reversed(functions), module.tree]
    for owner in owners:
        body: list[Any] = list(owner.body)
        block = _late_block(module, body, line)
        if block:
            return _moved(module, body, block, line)
    raise Unsure


def _late_block(module: Module, body: list[Any], line: int) -> list[cst.SimpleStatementLine]:
    """The first seed statement of a body that ends at or after the line, and those next to it."""
    block: list[cst.SimpleStatementLine] = []
    for node in body:
        small = only_statement(node)
        if isinstance(small, cst.Expr) and module.is_kind(small.value, Kind.SEED):
            block.append(node)
        elif block and module.last_line(block[-1]) >= line:
            break
        else:
            block = []
    return block if block and module.last_line(block[-1]) >= line else []


def _moved(module: Module, body: list[Any], block: list[cst.SimpleStatementLine], line: int) -> Draft:
    first = body.index(block[0])
    anchor_at = _position(module, body, first, block)
    anchor = body[anchor_at]
    # With nothing in between, the seed call is as far up as it can be.
    require(first - anchor_at > 1 and module.last_line(anchor) < line)
    comments = [each for each in block[0].leading_lines if each.comment is not None]
    gap = isinstance(only_statement(anchor), IMPORTS) and module.function(anchor) is None
    moved = [block[0].with_changes(leading_lines=comments), *block[1:]]
    inserted = edit.put_after(module, anchor, moved, above=gap, below=gap)
    return Draft((*inserted, *edit.taken_out(module, block)), "seed before anything else", safe=True)


def _position(module: Module, body: list[Any], first: int, block: Sequence[cst.CSTNode]) -> int:
    """The position in the body behind which the block can stand: its imports and what its arguments need."""
    positions: list[int] = []
    small = only_statement(body[0])
    if any(isinstance(only_statement(node), IMPORTS) for node in body[:first]):
        positions.append(body.index(last_leading_import(module, body, None)))
    elif isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString):
        positions.append(0)  # behind the docstring
    for name in {name.value for node in block for name in module.find(cst.Name, node)}:
        for assignment in module.scope(block[0])[name]:
            node = getattr(assignment, "node", module.tree)
            positions += [at for at in range(first) if module.inside(node, body[at])]
    return sure(max(positions, default=None))
