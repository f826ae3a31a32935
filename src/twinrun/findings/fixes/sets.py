"""The order of a set, and values of `hash()` (TW301): sort the set where it is run through."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Draft
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module

_MAKE_SETS = {"set", "frozenset"}
_SET_METHODS = {"union", "intersection", "difference", "symmetric_difference", "copy"}
_SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
# Calls that take the elements of an iterable in its order.
_RUN_THROUGH = {"list", "tuple", "enumerate", "zip", "map", "filter", "iter", "reversed"}
_RUN_THROUGH_METHODS = {"join", "extend", "fromkeys", "array", "constant", "asarray", "from_tensor_slices"}


def sorted_iteration(module: Module, line: int) -> Draft | None:
    """Sort the set that is run through at this line, or the one that is made here and run through later."""
    iterated = [
        node for node in ast.walk(module.tree) if isinstance(node, ast.expr) and _is_run_through(module, node)
    ]
    sets = [node for node in iterated if _is_set(module, node)]
    statement = module.statement_at(line)
    here = [node for node in sets if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not here and statement is not None:
        here = [node for node in sets if module.statement(node) is statement]
    if not here and isinstance(statement, ast.Assign) and _is_set(module, statement.value):
        made = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        here = [node for node in sets if isinstance(node, ast.Name) and node.id in made]
    if not here:
        return _stable_hash(module, line)
    edits = tuple(edit for node in here for edit in module.sort(node))
    sortable = all(_elements_are_text(module, node) for node in here)
    note = "run through the set in sorted order"
    if not sortable:
        note += " (its elements must be comparable; otherwise give sorted() a key)"
    return Draft(edits, note, safe=sortable)


def _is_run_through(module: Module, node: ast.expr) -> bool:
    outer = module.parent.get(node)
    if isinstance(outer, ast.For | ast.AsyncFor):
        return outer.iter is node
    if isinstance(outer, ast.comprehension):
        result = module.parent.get(outer)
        return outer.iter is node and not isinstance(
            result, ast.SetComp
        )  # a set of a set has no order to lose
    if isinstance(outer, ast.Starred):
        return not isinstance(module.parent.get(outer), ast.Set)
    if isinstance(outer, ast.Call) and node in outer.args:
        if isinstance(outer.func, ast.Name):
            return outer.func.id in _RUN_THROUGH and not _is_sorted(module, outer)
        return isinstance(outer.func, ast.Attribute) and outer.func.attr in _RUN_THROUGH_METHODS
    return False


def _is_sorted(module: Module, node: ast.expr) -> bool:
    """`sorted(list(words))` is in order already."""
    outer = module.parent.get(node)
    return isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id == "sorted"


def _is_set(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in _MAKE_SETS
        return (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _SET_METHODS
            and _is_set(module, node.func.value)
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS):
        return _is_set(module, node.left) or (
            not isinstance(node.op, ast.Sub) and _is_set(module, node.right)
        )
    if isinstance(node, ast.Attribute):  # self.words
        values = _assigned_to_attribute(module, node)
        return bool(values) and all(
            isinstance(value, ast.Call | ast.Set) and _is_set(module, value) for value in values
        )
    if isinstance(node, ast.Name):
        values = _assigned(module, node)
        return bool(values) and all(
            not isinstance(value, ast.Name) and _is_set(module, value) for value in values
        )
    return False


def _assigned(module: Module, name: ast.Name) -> list[ast.expr]:
    """Everything that is assigned to a name in its function; nothing when it is bound in other ways too."""
    scope = module.function(name) or module.tree
    values: list[ast.expr] = []
    for node in module.named[name.id]:
        if isinstance(node, ast.arg) and module.inside(node, scope):
            return []
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
            continue
        outer = module.parent[node]
        if (module.function(node) or module.tree) not in (scope, module.tree):
            continue
        if isinstance(outer, ast.Assign) or (isinstance(outer, ast.AnnAssign) and outer.value is not None):
            values.append(outer.value)  # type: ignore[arg-type]
        elif not isinstance(outer, ast.AugAssign):
            return []
    return values


def _assigned_to_attribute(module: Module, node: ast.Attribute) -> list[ast.expr]:
    """Everything that is assigned to an attribute of this name, of whatever object."""
    return [
        each.value
        for each in module.assignments
        if any(isinstance(target, ast.Attribute) and target.attr == node.attr for target in each.targets)
    ]


def _elements_are_text(module: Module, node: ast.expr) -> bool:
    """Whether every element is known to be a string, so that they can be sorted."""
    if isinstance(node, ast.Name):
        return all(_elements_are_text(module, value) for value in _assigned(module, node)) and not _grows(
            module, node
        )
    if isinstance(node, ast.Set):
        return all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.elts)
    if isinstance(node, ast.SetComp):
        return _is_text(node.elt)
    if isinstance(node, ast.BinOp):
        return _elements_are_text(module, node.left) and _elements_are_text(module, node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _makes_words(node.args[0])
    return False


def _grows(module: Module, name: ast.Name) -> bool:
    """Whether anything is put into the set after it was made."""
    return any(
        isinstance(node.value, ast.Name) and node.value.id == name.id
        for method in ("add", "update")
        for node in module.attributes.get(method, [])
    )


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"lower", "upper", "strip", "title", "casefold", "replace"}
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _makes_words(node: ast.expr) -> bool:
    """`text.split()`, `text.splitlines()`, a literal text, a list of literal texts."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"split", "rsplit", "splitlines"}
    if isinstance(node, ast.List | ast.Tuple):
        return all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _stable_hash(module: Module, line: int) -> Draft | None:
    """`hash(name)` becomes a checksum that is the same in every process. Its values are other ones, and lie
    between 0 and 2**32, so it is not applied unseen."""
    calls = [
        call
        for call in module.calls_at(line)
        if isinstance(call.func, ast.Name)
        and call.func.id == "hash"
        and len(call.args) == 1
        and not call.keywords
    ]
    if len(calls) != 1 or "hash" in module.names.bound_otherwise:
        return None
    call = calls[0]
    zlib = imported(module, "zlib")
    if zlib is None:
        return None
    name, edits = zlib
    edits += module.wrap(call.args[0], "str(", ").encode()")
    edits += (module.replace(call.func, f"{name}.crc32"),)
    return Draft(edits, "a checksum that is the same in every process", safe=False)
