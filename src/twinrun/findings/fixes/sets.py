"""The order of a set, and values of `hash()` (TW301): sort the set where its order is used."""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Draft, replace, sort, wrap
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module, only_statement, require
from twinrun.knowledge import SET_METHODS, Kind, is_kind, known_method

_OPERATORS = (cst.BitOr, cst.BitAnd, cst.Subtract, cst.BitXor)
_TEXT_METHODS = {"lower", "upper", "strip", "title", "casefold", "replace"}
_SPLITS = {"split", "rsplit", "splitlines"}


def sorted_iteration(module: Module, line: int) -> Draft:
    """Sort the set whose order is used at this line, or the one that is made here and used later."""
    iterated = [node for node in module.find(cst.BaseExpression) if _is_in_order(module, node)]
    sets = [node for node in iterated if _is_set(module, node)]
    statement = module.statement_at(line)
    small = only_statement(statement)
    made = [each.target for each in small.targets] if isinstance(small, cst.Assign) else []
    here = (
        [node for node in sets if module.spans(node, line)]
        or [node for node in sets if module.statement(node) is statement]
        or [node for node in sets if any(target.deep_equals(node) for target in made)]
    )
    if not here:
        return _stable_hash(module, line)
    sortable = all(_elements_are_text(module, node) for node in here)
    note = "iterate over the set in sorted order"
    if not sortable:
        note += " (its elements must be comparable; otherwise give sorted() a key)"
    return Draft(tuple(sort(module, node) for node in here), note, safe=sortable)


def _is_in_order(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression stands where its elements are taken in their order."""
    outer = module.parent[node]
    if isinstance(outer, cst.For | cst.CompFor):
        return outer.iter is node and not isinstance(module.parent[outer], cst.SetComp)
    if isinstance(outer, cst.StarredElement):
        return not isinstance(module.parent[outer], cst.Set)
    call = module.parent[outer] if isinstance(outer, cst.Arg) and outer.keyword is None else None
    if not isinstance(call, cst.Call):
        return False
    if isinstance(call.func, cst.Attribute):
        method = known_method(call.func.attr.value)
        return method is not None and method.kind is Kind.ITERATE
    return is_kind(module.name(call), Kind.ITERATE) and not _is_sorted(module, call)


def _is_sorted(module: Module, call: cst.Call) -> bool:
    """`sorted(list(words))` is in order already."""
    outer = module.parent[call]
    return isinstance(outer, cst.Arg) and module.name(module.parent[outer]) == "builtins.sorted"


def _is_set(module: Module, node: cst.BaseExpression, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a set, if the names that were `seen` on the way to it are."""
    if isinstance(node, cst.Set | cst.SetComp):
        return True
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in {*SET_METHODS, "copy"}:
            return _is_set(module, node.func.value, seen)
        return is_kind(module.name(node), Kind.SET)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _OPERATORS):
        right = not isinstance(node.operator, cst.Subtract) and _is_set(module, node.right, seen)
        return right or _is_set(module, node.left, seen)
    if not isinstance(node, cst.Name | cst.Attribute):
        return False
    name = module.code(node)
    values = [] if name in seen else _values(module, node)
    sets = [not isinstance(each, cst.Name) and _is_set(module, each, seen | {name}) for each in values]
    return name in seen or (bool(sets) and all(sets))


def _values(module: Module, node: cst.Name | cst.Attribute) -> list[cst.BaseExpression]:
    """Everything that is assigned to a name in its scope, or to an attribute of whatever object; nothing when
    it gets values in other ways too."""
    if isinstance(node, cst.Attribute):
        targets = [(each, target.target) for each in module.find(cst.Assign) for target in each.targets]
        named = [(each, target) for each, target in targets if isinstance(target, cst.Attribute)]
        return [each.value for each, target in named if target.attr.value == node.attr.value]
    values: list[cst.BaseExpression] = []
    for assignment in module.scope(node)[node.value]:
        outer = module.parent.get(getattr(assignment, "node", node))
        outer = module.parent[outer] if isinstance(outer, cst.AssignTarget) else outer
        if not isinstance(outer, cst.Assign | cst.AnnAssign | cst.AugAssign):
            return []
        if outer.value is not None and not isinstance(outer, cst.AugAssign):
            values.append(outer.value)
    return values


def _elements_are_text(module: Module, node: cst.BaseExpression, seen: frozenset[str] = frozenset()) -> bool:
    """Whether every element is known to be a string, so that they can be sorted."""
    if isinstance(node, cst.Name):
        used = [each.attr.value for each in module.find(cst.Attribute) if each.value.deep_equals(node)]
        values = [] if node.value in seen else _values(module, node)
        texts = all(_elements_are_text(module, each, seen | {node.value}) for each in values)
        return texts and not {"add", "update"} & {*used}
    if isinstance(node, cst.Set):
        return all(isinstance(each.value, cst.BaseString) for each in node.elements)
    if isinstance(node, cst.SetComp):
        return isinstance(node.elt, cst.BaseString) or _calls(node.elt, _TEXT_METHODS)
    if isinstance(node, cst.BinaryOperation):
        return all(_elements_are_text(module, each, seen) for each in (node.left, node.right))
    if not isinstance(node, cst.Call) or isinstance(node.func, cst.Attribute) or len(node.args) != 1:
        return False
    words = node.args[0].value
    if isinstance(words, cst.List | cst.Tuple):
        return all(isinstance(each.value, cst.BaseString) for each in words.elements)
    return isinstance(words, cst.BaseString) or _calls(words, _SPLITS)


def _calls(node: cst.BaseExpression, methods: set[str]) -> bool:
    func = node.func if isinstance(node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value in methods


def _stable_hash(module: Module, line: int) -> Draft:
    """`hash(name)` becomes a checksum that is the same in every process. Its values are other ones, and lie
    between 0 and 2**32, so it is not applied unseen."""
    calls = [each for each in module.calls_at(line) if module.name(each) == "builtins.hash"]
    require(len(calls) == 1 and len(calls[0].args) == 1)
    name, changes = imported(module, "zlib")
    hashed = wrap(calls[0].args[0].value, "str({it}).encode()")
    checksum = replace(calls[0].func, f"{name}.crc32")
    return Draft((*changes, hashed, checksum), "a checksum that is the same in every process", safe=False)
