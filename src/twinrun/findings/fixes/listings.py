"""Directory listings in the file system's order (TW302): sort them."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.module import Module

# Functions and whether they return a list (sorting keeps the type) or an iterator.
FUNCTIONS = {
    "os.listdir": True,
    "glob.glob": True,
    "tensorflow.io.gfile.listdir": True,
    "tensorflow.io.gfile.glob": True,
    "glob.iglob": False,
    "os.scandir": False,
}
WALKS = {"os.walk", "tensorflow.io.gfile.walk"}
PATH_METHODS = {"iterdir": 0, "glob": 1, "rglob": 1}
# Where an iterator is only run through from beginning to end, a list does as well.
_CONSUMERS = {"list", "tuple", "enumerate", "zip", "map", "filter", "dict", "max", "min", "any", "all"}
_BY_NAME = ", key=lambda entry: entry.name"


def sorted_listing(module: Module, line: int) -> Draft | None:
    """Sort the listing made at this line."""
    edits: list[Edit] = []
    safe = True
    for call in module.calls_at(line):
        if edits and module.name_line(call) != line:
            break
        made = _walk(module, call) or _listing(module, call)
        if made is not None:
            edits += made[0]
            safe = safe and made[1]
    return Draft(tuple(edits), "sort the listing", safe=safe) if edits else None


def _listing(module: Module, call: ast.Call) -> tuple[tuple[Edit, ...], bool] | None:
    name = module.names.called(call)
    if name in FUNCTIONS:
        is_list = FUNCTIONS[name]
    elif _is_path_method(module, call):
        is_list = False
    else:
        return None
    outer = module.parent.get(call)
    outer_name = outer.func.id if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) else None
    if outer_name == "sorted":
        return None
    key = _BY_NAME if name == "os.scandir" else ""
    if isinstance(
        outer, ast.withitem
    ):  # with os.scandir(d) as entries: the entries are sorted where they are used
        return _entries_of_with(module, outer)
    if outer_name == "next":
        return module.wrap(call, "iter(sorted(", f"{key}))"), True
    runs_through = is_list or _is_run_through(call, outer, outer_name)
    return module.sort(call, key), runs_through


def _is_path_method(module: Module, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in PATH_METHODS:
        return False
    known = module.names.called(call)  # glob.glob and its like are known by their full name
    return known is None and len(call.args) == PATH_METHODS[call.func.attr]


def _is_run_through(call: ast.Call, outer: ast.AST | None, outer_name: str | None) -> bool:
    if isinstance(outer, ast.For | ast.comprehension):
        return outer.iter is call
    return outer_name in _CONSUMERS or isinstance(outer, ast.Starred)


def _entries_of_with(module: Module, item: ast.withitem) -> tuple[tuple[Edit, ...], bool] | None:
    block = module.parent[item]
    if not isinstance(item.optional_vars, ast.Name) or not isinstance(block, ast.With):
        return None
    name = item.optional_vars.id
    uses = [
        each
        for node in block.body
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and each.id == name
    ]
    if len(uses) != 1 or not isinstance(module.parent[uses[0]], ast.For | ast.comprehension):
        return None
    return module.sort(uses[0], _BY_NAME), True


def _walk(module: Module, call: ast.Call) -> tuple[tuple[Edit, ...], bool] | None:
    """`for root, dirs, files in os.walk(d):` sorts both lists at the top of the loop; sorting `dirs` in place
    also fixes the path the walk takes."""
    loop = module.parent.get(call)
    if module.names.called(call) not in WALKS or not isinstance(loop, ast.For) or loop.iter is not call:
        return None
    target = loop.target
    if not isinstance(target, ast.Tuple) or len(target.elts) != 3:
        return None
    lists = [each.id for each in target.elts[1:] if isinstance(each, ast.Name)]
    indent = module.indent(loop.body[0])
    if len(lists) != 2 or indent is None or len({*lists}) != 2:
        return None
    wanted = [name for position, name in enumerate(lists) if position == 0 or name != "_"]
    text = "".join(f"{indent}{name}.sort(){module.newline}" for name in wanted)
    decorators = getattr(loop.body[0], "decorator_list", [])
    first = min([loop.body[0].lineno, *(each.lineno for each in decorators)])
    at = module.line_start(first)
    return (Edit(at, at, text),), True
