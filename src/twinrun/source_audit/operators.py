"""Operators, comparisons, displays (`[a, b]`, `{a: b}`) and comprehensions: what they give, and its marks."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from twinrun.knowledge.set_order import SET_OPERATORS
from twinrun.source_audit.abstract_values import MISSING, Value, constant, join, plain, total
from twinrun.source_audit.containers import collection_of, element_of, put_in, spill, store, update_from
from twinrun.source_audit.expressions import assign, iterate, truth
from twinrun.source_audit.marks import NONE, Marks, as_name, without_collection_order, without_order
from twinrun.source_audit.state import Frame, Syntax


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = frame.evaluate_all((node.left, node.right))
    marks, numeric = total(left) | total(right), left.numeric and right.numeric
    if isinstance(node.op, SET_OPERATORS) and (left.may_be("set") or right.may_be("set")):
        return Value("set", without_order(marks), numeric=numeric)
    if isinstance(node.op, ast.Add) and left.kind == right.kind and left.kind in ("list", "tuple"):
        made = Value(left.kind, left.marks | right.marks, numeric=numeric)
        if left.items is not None and right.items is not None:
            made.items = [*left.items, *right.items]
        else:
            made.element = join((element_of(left), element_of(right)))
        return made
    if isinstance(node.op, ast.Mult) and left.kind in ("list", "tuple"):
        return Value(left.kind, left.marks, element=element_of(left), numeric=left.numeric)
    if isinstance(left.constant, str) or isinstance(right.constant, str) or _is_path(left):
        path = left.path if _is_path(left) else ""
        return Value("object" if path else "plain", as_name(marks), path=path)
    path = left.path if left.kind == "object" else right.path if right.kind == "object" else ""
    return Value("object" if path else "plain", marks, path=path, numeric=numeric)


def _is_path(value: Value) -> bool:
    return value.kind == "object" and value.path.startswith("pathlib.")


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    operand = frame.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        decided = truth(operand)
        if decided is not None:
            return constant(not decided)
        return plain(without_collection_order(total(operand)), numeric=True)
    if isinstance(node.op, ast.USub) and isinstance(operand.constant, (int, float)):
        return constant(-operand.constant)
    return plain(total(operand), numeric=operand.numeric)


def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    """`a or b`: the operands that may be the answer."""
    stop = isinstance(node.op, ast.Or)
    possible: list[Value] = []
    for operand in node.values:
        value = frame.evaluate(operand)
        decided = truth(value)
        if decided is None or decided is stop:
            possible.append(value)
        if decided is stop:
            break
    else:
        if not possible or possible[-1] is not value:
            possible.append(value)
    return join(possible)


def _compare(frame: Frame, node: ast.Compare) -> Value:
    left = frame.evaluate(node.left)
    rights = frame.evaluate_all(node.comparators)
    if len(rights) == 1:
        decided = _decided(node.ops[0], left, rights[0])
        if decided is not None:
            return constant(decided)
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return plain(numeric=True)  # which object it is, not what it holds
    # Whether a key is in a mapping does not depend on what it is mapped to.
    marks = NONE.union(total(left), *(r.marks if r.kind == "dict" else total(r) for r in rights))
    return plain(without_collection_order(marks), numeric=True)


_ORDERINGS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _decided(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    if isinstance(op, (ast.Is, ast.IsNot)) and right.constant is None:
        same: bool | None = None
        if left.constant is not MISSING:
            same = left.constant is None
        elif left.sure or left.kind not in ("plain", "either", "member"):
            same = False
        return same if same is None or isinstance(op, ast.Is) else not same
    if left.constant is MISSING or right.constant is MISSING:
        return None
    if isinstance(op, (ast.Eq, ast.NotEq)):
        same = bool(left.constant == right.constant)
        return same if isinstance(op, ast.Eq) else not same
    compare = _ORDERINGS.get(type(op))
    if compare is not None and all(isinstance(each.constant, (int, float)) for each in (left, right)):
        return bool(compare(left.constant, right.constant))
    return None


def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    condition = frame.evaluate(node.test)
    decided = truth(condition)
    if decided is not None:
        return frame.evaluate(node.body if decided else node.orelse)
    marks = without_order(total(condition))
    with frame.state.controlled(marks):
        chosen = join(frame.evaluate_all((node.body, node.orelse)))
    return chosen.marked(marks)


def _text(frame: Frame, node: ast.JoinedStr) -> Value:
    inserted = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    marks = NONE.union(*map(total, frame.evaluate_all(inserted)))
    return plain(as_name(marks) if len(node.values) > 1 else marks)


# -- displays and comprehensions ----------------------------------------------------------------------


def _sequence(frame: Frame, node: ast.List | ast.Tuple | ast.Set) -> Value:
    made = Value({ast.List: "list", ast.Tuple: "tuple"}.get(type(node), "set"), items=[])
    for element in node.elts:
        value = frame.evaluate(element)
        if isinstance(element, ast.Starred) and made.kind != "set":
            value = iterate(frame, element, value)
        put_in(made, value)
    if made.kind != "set" and any(isinstance(element, ast.Starred) for element in node.elts):
        spill(made)
    return made


def _dict(frame: Frame, node: ast.Dict) -> Value:
    made = Value("dict")
    for key, value in zip(node.keys, node.values, strict=True):
        held = frame.evaluate(value)
        if key is None:
            update_from(made, held)
        else:
            store(made, frame.evaluate(key), held)
    return made


def _comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    state, outer_names = frame.state, dict(frame.names)
    conditions: Marks = NONE
    with state.during(loops=state.loops):
        for generator in node.generators:
            element = iterate(frame, generator.iter, frame.evaluate(generator.iter))
            state.loops = state.loops_over(element)
            assign(frame, generator.target, element)
            conditions |= without_order(NONE.union(*map(total, frame.evaluate_all(generator.ifs))))
        with state.during(repeats=[*state.repeats, []]):
            made = _comprehended(frame, node)
    made.marks |= conditions
    frame.names = outer_names
    return made


def _comprehended(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """The collection, for one element of what is iterated over."""
    if not isinstance(node, ast.DictComp):
        return collection_of(frame.evaluate(node.elt), "set" if isinstance(node, ast.SetComp) else "list")
    made = Value("dict")
    store(made, *frame.evaluate_all((node.key, node.value)))
    made.element, made.attributes = join(made.held), None
    return made


EXPRESSIONS: Syntax = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.JoinedStr: _text,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), _sequence),
    ast.Dict: _dict,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), _comprehension),
}
